-- sextant/admission.lua: what becomes of a job, by what a planner says.

local check = dofile(arg[1] .. "/tests/slurm/lua/check.lua")

local asked, says  -- the last request, and the planner's answer to it
package.loaded["sextant.planner"] = {
  now = function() return 0 end,
  request = function(_, text, got, job)
    return { words = text, count = got.count, accelerator = got.accelerator, name = job.name, caller = {} }
  end,
  admit = function(_, request)
    asked = request
    return says[1], says[2], says[3]
  end,
}
local admission = require "sextant.admission"

local function site(more)
  local settings = { mode = "refuse", exempt_users = {}, exempt_partitions = {},
                     devices = { { gres = "h100", accelerator = "h100-sxm" } } }
  for name, value in pairs(more or {}) do settings[name] = value end
  return settings
end

local function job(more)
  local fields = { plan = "llama tp=2", tres_per_node = "gres:gpu:h100:8", user = "ada", uid = 7, name = "run" }
  for name, value in pairs(more or {}) do fields[name] = value end
  return fields
end

local function decide(answer, settings, one)
  says, asked = answer, nil
  return admission.decide(site(settings), job(one))
end

local function answer(verdict, change, more)
  local given = { verdict = verdict, message = verdict .. ": it", change = change or "",
                  layout = { SEXTANT_TP = "2", SEXTANT_GBS = "64" } }
  for name, value in pairs(more or {}) do given[name] = value end
  return { given }
end

-- What is said, in mode "refuse"; action; its lines.
for name, case in pairs {
  fits = { answer("FITS"), "pass", "FITS", { "sextant [8 GPUs]: FITS: it" } },
  tight = { answer("TIGHT", "--zero=x: 1 GiB"), "pass", "TIGHT",
            { "sextant [8 GPUs]: TIGHT: it", "sextant [8 GPUs]: --zero=x: 1 GiB" } },
  ["does not fit"] = { answer("DOES_NOT_FIT", "--zero=x: 1 GiB"), "refuse", "DOES_NOT_FIT",
                       { "sextant [8 GPUs]: DOES_NOT_FIT: it", "sextant [8 GPUs]: --zero=x: 1 GiB" } },
  unknown = { answer("UNKNOWN"), "pass", "UNKNOWN", { "sextant [8 GPUs]: UNKNOWN: it" } },
  ["wrong words"] = { { { refusal = "--tp: no" } }, "refuse", "REFUSED",
                      { "sextant [8 GPUs]: refused: --tp: no" } },
  away = { { nil, "connection refused", "away" }, "pass", "NOT_PLANNED",
    { "sextant [8 GPUs]: not planned: the planner is away: connection refused; the job is queued" } },
  open = { { nil, "no", "open" }, "pass", "NOT_PLANNED",
           { "sextant [8 GPUs]: not planned: the planner is left alone: no; the job is queued" } },
} do
  local got = decide(case[1])
  check.equal(name, got.action, case[2])
  check.equal(name, got.verdict, case[3])
  check.equal(name, got.lines, case[4])
  asked.caller = nil
  check.equal(name, asked, { words = "llama tp=2", count = 8, accelerator = "h100-sxm", name = "run" })
  check.has(name, got.log, "mode=refuse action=" .. case[2] .. " verdict=" .. case[3] .. " gpus=8 ")
end

-- Observing says the same, and lets it pass.
for _, refused in ipairs { answer("DOES_NOT_FIT"), { { refusal = "no" } } } do
  local got = decide(refused, { mode = "observe" })
  check.equal("observe", got.action, "pass")
  check.equal("observe", got.lines[2], "sextant [8 GPUs]: this site only observes: the job is queued")
end
check.equal("observe a job that fits", #decide(answer("FITS"), { mode = "observe" }).lines, 1)

-- Whom nothing is asked about: settings, job.
for name, case in pairs {
  off = { { mode = "off" } }, ["no words"] = { nil, { plan = "" } },
  ["a user"] = { { exempt_users = { "bob", "ada" } } }, ["a number"] = { { exempt_users = { "7" } } },
  ["a partition"] = { { exempt_partitions = { "debug" } }, { partition = "debug" } },
  ["all partitions"] = { { exempt_partitions = { "a", "b" } }, { partition = "a,b" } },
} do
  local got = decide(answer("DOES_NOT_FIT"), case[1], case[2])
  check.equal(name, { got.action, got.lines, got.log, asked }, { "pass", {}, nil, nil })
end
for name, case in pairs {
  ["another user"] = { { exempt_users = { "ad", "77" } } },
  ["another partition"] = { { exempt_partitions = { "debug" } }, { partition = "train" } },
  ["some partitions"] = { { exempt_partitions = { "a" } }, { partition = "a,b" } },
  ["no partition"] = { { exempt_partitions = { "a" } } },
} do
  check.equal(name, decide(answer("DOES_NOT_FIT"), case[1], case[2]).action, "refuse")
end

-- What is not judged is not asked: job, its line.
for name, case in pairs {
  ["no count"] = { { num_tasks = 20 }, "sextant: not judged: its number of nodes is open" },
  ["a part"] = { { is_part = true }, "sextant: not judged: it is a part of a heterogeneous job" },
  ["long words"] = { { plan = ("x"):rep(5000) }, "sextant: not judged: the request has 5000 bytes" },
} do
  local before = sextant_counts.unanswered
  local got = decide(answer("DOES_NOT_FIT"), nil, case[1])
  check.equal(name, { got.action, got.verdict, asked }, { "pass", "NOT_JUDGED" })
  check.has(name, got.lines[1], case[2])
  check.has(name, got.log, "verdict=NOT_JUDGED")
  check.equal(name, sextant_counts.unanswered, before + 1)
end
local before = sextant_counts.unanswered
decide({ nil, "x", "late" })
check.equal("a late answer is counted", sextant_counts.unanswered, before + 1)
decide(answer("UNKNOWN"))
check.equal("an answer is not", sextant_counts.unanswered, before + 1)

-- What is counted is sent until an answer comes: unanswered, errors.
local function sent(given)
  decide(given)
  return { asked.caller.unansweredCount, asked.caller.errorCount }
end
decide(answer("FITS"))
check.equal("nothing to tell", sent(answer("FITS")), {})
check.equal("a late job is not counted before", sent({ nil, "x", "late" }), {})
check.equal("it is later", sent({ nil, "x", "odd" }), { 1 })
check.equal("no answer: again", sent(answer("UNKNOWN")), { 2 })
check.equal("answered: not again", sent(answer("FITS")), {})
decide(answer("FITS"), nil, { is_part = true })
sextant_counts.errors = sextant_counts.errors + 3
check.equal("with errors", sent({ { refusal = "no" } }), { 1, 3 })
check.equal("a refusal is an answer", sent(answer("FITS")), {})
sextant_counts.unanswered = sextant_counts.unanswered + 1000001
check.equal("a million at once", sent(answer("FITS")), { 1000000 })
check.equal("the rest later", sent(answer("FITS")), { 1 })
sextant_counts.unanswered = sextant_counts.unanswered + 1
admission.decide(site(), job(), function(_, request)
  check.equal("another asks: nothing of the hook's", request.caller, {})
  return says[1]
end)
check.equal("it is still told", sent(answer("FITS")), { 1 })

-- The limit of time, in minutes, and seconds predicted; whether it warns.
for name, case in pairs {
  less = { 60, 3601, "--time is 60 minutes, and the run may take 61" }, enough = { 60, 3600 },
  ["no limit"] = { nil, 3601 }, ["no prediction"] = { 60, nil },
} do
  local got = decide(answer("FITS", "", { time_limit_s = case[2] }), nil, { time_limit_min = case[1] })
  check.equal(name, got.lines[2], case[3] and "sextant [8 GPUs]: " .. case[3])
  check.equal(name, got.action, "pass")
end

-- A note stands beside the answer, or alone.
local late = "#!/bin/sh\ntrue\n#SEXTANT a\n"
check.has("note", decide(answer("FITS"), nil, { script = late }).lines[2], "sextant: #SEXTANT lines after")
local noted = decide(answer("FITS"), nil, { plan = "", script = late })
check.has("note alone", noted.lines[1], "sextant: #SEXTANT lines after")
check.equal("note alone", noted.log, nil)

-- One line of the log, whatever a user writes.
local got = decide(answer("FITS"), nil, { name = 'a" gpus=1\n\27[31m\255', user = ("u"):rep(1000), id = 12 })
check.has("log", got.log, [[name="a' gpus=1??[31m?"]])
check.has("log", got.log, 'job=12 user="' .. ("u"):rep(400) .. '" ')
check.has("log", got.log, 'layout="SEXTANT_GBS=64 SEXTANT_TP=2"')
check.has("log", got.log, 'accelerator="h100-sxm"')
check.has("log", got.log, 'line="FITS: it"')
check.equal("log is printable", got.log:find("[^\32-\126]"), nil)
check.equal("layout", got.layout, { SEXTANT_TP = "2", SEXTANT_GBS = "64" })
check.equal("where from", { got.words, got.from }, { "llama tp=2", "environment" })
check.equal("admin", decide(answer("FITS", "", { message = "F [1]" })).admin, "[sextant: F '1']")
check.equal("printable", decide({ nil, "a\27\n", "odd" }).lines[1],
            "sextant [8 GPUs]: not planned: the planner is not understood: a??; the job is queued")

check.ends()
