-- job_submit.lua under a stand-in for Slurm, whose fields are as 22.05 gives them.

local check = dofile(arg[1] .. "/tests/slurm/lua/check.lua")

local NO_VAL, INFINITE, NO_VAL16 = 4294967294, 4294967295, 65534
local TRAIN = { flag_default = 1, max_share = 1 }
local PARTITIONS = { train = TRAIN, debug = { flag_default = 0, max_share = 1 },
                     whole = { flag_default = 0, max_share = 0 } }
local FITS = { verdict = "FITS", message = "FITS: it", change = "", layout = { SEXTANT_TP = "2" } }
local NO_FIT = { verdict = "DOES_NOT_FIT", message = "DOES NOT FIT: it", change = "--zero=x: 1 GiB", layout = {} }

local user, log, errors  -- what was said since the last call
slurm = {
  SUCCESS = 0, ERROR = -1, ESLURM_ACCOUNTING_POLICY = 2050,
  log_user = function(form, ...) user[#user + 1] = form:format(...) end,
  log_info = function(form, ...) log[#log + 1] = form:format(...) end,
  log_error = function(form, ...) errors[#errors + 1] = form:format(...) end,
}

local asked, says
package.loaded["sextant.planner"] = {
  now = function() return 0 end,
  request = function(_, text, got, job)
    asked = { words = text, count = got.count, user = job.user, name = job.name, caller = {} }
    return asked
  end,
  admit = function()
    if type(says) == "string" then error(says) end
    return says
  end,
}
for _, name in ipairs { "cli_filter", "job_submit" } do
  package.path, package.cpath = "./?.lua;/kept/?.lua;" .. package.path, "./?.so;;/kept/?.so"
  check.equal(name .. " loads", dofile(check.root .. "/deploy/slurm/" .. name .. ".lua"), slurm.SUCCESS)
  for _, path in ipairs { package.path, package.cpath } do
    for entry in path:gmatch("[^;]+") do check.equal(name .. ": " .. entry, entry:sub(1, 1), "/") end
    check.has(name, path, "/kept/?")
  end
end

local function write_site(text)
  local file = assert(io.open(os.getenv("SEXTANT_SLURM_FILE"), "wb"))
  file:write(text)
  file:close()
end
local function site(more)
  write_site('mode = "refuse"\ndevices = {{gres = "h100", accelerator = "h100-sxm", gpus_per_node = 8}}\n' ..
             (more or ""))
end
site()

-- job_desc of sbatch with `more`; NIL takes a field away.
local NIL = {}
local function described(more)
  local desc = {
    script = "#!/bin/sh\n#SEXTANT llama tp=2\n", environment = {}, user_name = "ada", user_id = 1001,
    name = "run", min_nodes = NO_VAL, max_nodes = NO_VAL, num_tasks = NO_VAL, ntasks_per_gpu = NO_VAL16,
    shared = NO_VAL16, time_limit = NO_VAL, het_job_offset = NO_VAL, tres_per_node = "gres:gpu:h100:8" }
  for name, value in pairs(more or {}) do
    if value == NIL then desc[name] = nil else desc[name] = value end
  end
  return desc
end

local function call(answer, hook, ...)
  user, log, errors, asked, says = {}, {}, {}, nil, answer
  return hook(...)
end
local function submit(answer, more)
  local desc = described(more)
  return call(answer, slurm_job_submit, desc, PARTITIONS, 1001), desc
end

local code, desc = submit(FITS)
check.equal("fits", { code, user, desc.environment.SEXTANT_TP, desc.admin_comment, desc.comment },
            { 0, { "sextant [8 GPUs]: FITS: it" }, "2", nil, nil })
check.has("fits: log", log[1], "event=submit mode=refuse action=pass verdict=FITS gpus=8")
code, desc = submit(NO_FIT)
check.equal("does not fit", { code, user[1], desc.environment }, { 2050, "sextant [8 GPUs]: DOES NOT FIT: it", {} })
check.equal("wrong words", submit({ refusal = "no" }), 2050)
slurm.ESLURM_ACCOUNTING_POLICY = nil
check.equal("an older Slurm", submit(NO_FIT), -1)
slurm.ESLURM_ACCOUNTING_POLICY = 2050
check.equal("no words", { submit(NO_FIT, { script = "#!/bin/sh\n" }), #user, #log, asked }, { 0, 0, 0, nil })

-- How many GPUs were asked about.
for name, case in pairs {
  ["--nodes=2"] = { { min_nodes = 2, max_nodes = 2 }, 16 }, ["--ntasks=20"] = { { num_tasks = 20 }, nil },
  ["--exclusive"] = { { shared = 0, tres_per_node = "gres:gpu:h100:2" }, 8 },
  ["--exclusive=user"] = { { shared = 2, tres_per_node = "gres:gpu:h100:2" }, 2 },
  ["--partition=whole"] = { { partition = "whole", tres_per_node = "gres:gpu:h100:2" }, 8 },
  ["--partition=whole,train"] = { { partition = "whole,train" }, nil },
  ["--ntasks-per-gpu"] = { { tres_per_node = NIL, num_tasks = 8, ntasks_per_gpu = 2 }, 4 },
  ["--gpus"] = { { tres_per_node = NIL, tres_per_job = "gres:gpu:12" }, 12 },
  ["--gpus-per-task"] = { { tres_per_node = NIL, tres_per_task = "gres:gpu:2", num_tasks = 3 }, 6 },
  ["--gpus-per-socket"] = { { tres_per_node = NIL, tres_per_socket = "gres:gpu:2" }, nil },
  ["an array"] = { { array_inx = "0-3" }, 8 }, ["a part"] = { { het_job_offset = 0 }, nil },
} do
  submit(FITS, case[1])
  check.equal(name, asked and asked.count, case[2])
end
TRAIN.max_share = 0
submit(FITS, { tres_per_node = "gres:gpu:h100:2" })
check.equal("the default partition gives whole nodes", asked.count, 8)
TRAIN.max_share = 1
site('exempt_partitions = {"train"}')
check.equal("the default partition is exempt", submit(NO_FIT), 0)
site()

-- Where words are from, and what the job keeps for slurm_job_modify.
local function kept(more)
  return select(2, submit(FITS, more)).comment
end
check.equal("environment", kept { script = "#!/bin/sh\n", environment = { SEXTANT_PLAN = "e" } }, "sextant: e")
check.equal("its words", asked.words, "e")
check.equal("beside a comment", kept { script = "\n", environment = { SEXTANT_PLAN = "e" }, comment = "mine" },
            "mine sextant: e")
check.equal("comment", kept { comment = "mine sextant: c" }, "mine sextant: c")
check.equal("its words", asked.words, "c")
check.equal("whole nodes", kept { shared = 0 }, "sextant-exclusive")
check.equal("whole nodes, words", kept { shared = 0, comment = "sextant: c" }, "sextant-exclusive sextant: c")
check.equal("too long for a comment",
            kept { script = "\n", environment = { SEXTANT_PLAN = ("x"):rep(2000) } }, nil)
check.equal("too long to be judged", kept { script = "\n", environment = { SEXTANT_PLAN = ("x"):rep(5000) } }, nil)
-- srun: no script, and an environment that must not be touched.
local untouched = setmetatable({}, { __index = function() error("read") end, __newindex = function() error("set") end })
check.equal("srun", submit(FITS, { script = NIL, environment = untouched, comment = "sextant: c" }), 0)
check.equal("srun", { errors, user }, { {}, { "sextant [8 GPUs]: FITS: it" } })

-- The limit of time: minutes; whether it warns of an hour.
for limit, warns in pairs { [59] = true, [60] = false, [NO_VAL] = false, [INFINITE] = false } do
  submit({ verdict = "FITS", message = "F", change = "", layout = {}, time_limit_s = 3600 }, { time_limit = limit })
  check.equal("--time=" .. limit, user[2] ~= nil, warns)
end

-- AdminComment where the site turns it on: what stands there stays.
site("admin_comment = true")
for given, becomes in pairs {
  [""] = "[sextant: FITS: it]", ["JS1:H4sI=="] = "JS1:H4sI== [sextant: FITS: it]",
  ["a [sextant: old] b"] = "a b [sextant: FITS: it]",
} do
  check.equal("AdminComment " .. given, select(2, submit(FITS, { admin_comment = given })).admin_comment, becomes)
end
check.equal("AdminComment of none", select(2, submit(FITS)).admin_comment, "[sextant: FITS: it]")
site()

-- The mode of the file holds at once; a wrong file is off, aloud.
for text, case in pairs {
  ['mode = "off"'] = { 0 }, ['mode = "observe"'] = { 0 }, ['mode = "refuze"'] = { 0, "mode has to be" },
  ["x = 1"] = { 0, "x: no such setting" }, ["mode ="] = { 0, "unexpected symbol" },
  ['mode = "refuse"'] = { 2050 },
} do
  write_site(text .. '\ndevices = {{gres = "h100", accelerator = "h100-sxm"}}\n')
  check.equal(text, submit(NO_FIT), case[1])
  check.has(text, errors[1], case[2])
end
site()

-- An error in the hook lets the job pass, and is counted.
local before = sextant_counts.errors
check.equal("an error", submit("bad\nthing"), 0)
check.has("an error", errors[1], "event=submit action=pass verdict=ERROR errors=" .. before + 1)
check.has("an error", errors[1], "bad thing")
check.equal("an error is one line", errors[1]:find("\n"), nil)
check.equal("an error in a field", submit(FITS, { script = setmetatable({}, {}) }), 0)
check.equal("an error in the log", call("x", slurm_job_submit, nil), 0)
submit(FITS)
check.has("later lines have the count", log[1], "errors=" .. before + 3)
check.equal("a planner is told", asked.caller.errorCount, 3)

-- scontrol update: what changes, the job as it stands, the user who asks; what is asked about.
local RECORD = { job_id = 12, script = "#!/bin/sh\n#SEXTANT llama tp=2\n", user_id = 1001, name = "run",
                 partition = "train", min_nodes = 2, max_nodes = 2, min_cpus = 2, het_job_id = 0,
                 tres_per_node = "gres:gpu:h100:8" }
local function modify(answer, changes, more, uid)
  local update = described({ script = NIL, environment = NIL, name = NIL, tres_per_node = NIL, het_job_offset = 0 })
  for name, value in pairs(changes) do update[name] = value end
  local record = {}
  for name, value in pairs(RECORD) do record[name] = value end
  for name, value in pairs(more or {}) do
    if value == NIL then record[name] = nil else record[name] = value end
  end
  return call(answer, slurm_job_modify, update, record, PARTITIONS, uid or 1001), update
end
for name, case in pairs {
  ["NumNodes=1-1"] = { { min_nodes = 1, max_nodes = 1 }, nil, 8 },
  ["NumNodes=1"] = { { min_nodes = 1 }, nil, 8 },  -- of one or two: slurm.cases
  ["Gres=gpu:4"] = { { tres_per_node = "gres:gpu:4" }, nil, 8 },
  ["TresPerJob"] = { { tres_per_job = "gres:gpu:4" }, { tres_per_node = NIL, tres_per_job = "gres:gpu:8",
                     min_nodes = 1, max_nodes = 0 }, 4 },
  ["Partition"] = { { partition = "debug" }, nil, 16 },
  ["Partition=whole"] = { { partition = "whole" }, { tres_per_node = "gres:gpu:2" }, 16 },
  ["OverSubscribe=NO"] = { { shared = 0 }, { tres_per_node = "gres:gpu:2" }, 16 },
  ["Gres of an exclusive job"] = { { tres_per_node = "gres:gpu:1" }, { comment = "sextant-exclusive" }, 16 },
  ["NumTasks"] = { { num_tasks = 2 }, { tres_per_node = NIL, tres_per_task = "gres:gpu:2" }, nil, "not judged" },
  ["tasks unknown"] = { { tres_per_node = "gres:gpu:2" }, { min_nodes = 1, max_nodes = 0 }, nil, "not judged" },
  ["one task"] = { { tres_per_node = "gres:gpu:2" }, { min_nodes = 1, max_nodes = 0, min_cpus = 1 }, 2 },
  ["a part"] = { { min_nodes = 1, max_nodes = 1 }, { het_job_id = 11 }, nil, "heterogeneous" },
} do
  modify(FITS, case[1], case[2])
  check.equal(name, asked and asked.count, case[3])
  check.has(name, log[1], case[4] or "event=modify mode=refuse action=pass verdict=FITS")
  check.equal(name, errors, {})
end
check.equal("a change that does not fit", modify(NO_FIT, { min_nodes = 1, max_nodes = 1 }), 2050)
check.equal("the log alone says it", { #user, #log }, { 0, 1 })
modify(FITS, { min_nodes = 1, max_nodes = 1 }, { script = "\n", comment = "sextant: c" })
check.equal("words of the comment", asked.words, "c")
check.equal("its owner asks", asked.user, "ada")
modify(FITS, { partition = "debug" }, { user_id = 1002 })
check.equal("another asks", asked.user, nil)
for name, changes in pairs {
  TimeLimit = { time_limit = 10 }, Comment = { comment = "sextant: x" }, Priority = { priority = 3 },
} do
  check.equal(name, { modify(NO_FIT, changes), #log, asked }, { 0, 0, nil })
end
site("admin_comment = true")
local function commented(uid)
  return select(2, modify(FITS, { partition = "debug" }, { admin_comment = "JS1:x [sextant: old]" }, uid)).admin_comment
end
check.equal("root's update", commented(0), "JS1:x [sextant: FITS: it]")
check.equal("a user's update", commented(1001), nil)
site('exempt_users = {"1001"}')
check.equal("an exempt user's job", modify(NO_FIT, { partition = "debug" }), 0)
site()
check.equal("an error in modify", modify("bad", { partition = "debug" }), 0)

check.ends()
