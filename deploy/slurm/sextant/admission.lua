-- Whether a job may start: its words, its GPUs and the planner's answer put together. Nothing here
-- is Slurm's, so that hooks, wrappers and the doctor share it.

local gpus = require "sextant.gpus"
local words = require "sextant.words"

local admission = {}

local MOST_COUNT = 1000000  -- AdmitCaller.unanswered_count, error_count

-- What is counted since the hook was loaded; a global, as planner's breaker. `errors`: Lua errors;
-- `unanswered`: jobs with words that no planner judged.
sextant_counts = sextant_counts or { errors = 0, unanswered = 0 }
local told = { errors = 0, unanswered = 0 }  -- of these, what a planner has answered to

local function is_one_of(list, name)
  for _, each in ipairs(list) do
    if each == name then return true end
  end
  return false
end

-- Whether the site leaves this job alone: its user, by name or number, or each of its partitions.
local function is_exempt(settings, job)
  if is_one_of(settings.exempt_users, job.user) or
     is_one_of(settings.exempt_users, job.uid and string.format("%d", job.uid)) then
    return true
  end
  local some = false
  for partition in (job.partition or ""):gmatch("[^,%s]+") do
    if not is_one_of(settings.exempt_partitions, partition) then return false end
    some = true
  end
  return some
end

local function quoted(text)
  return '"' .. words.printable(words.utf8(text, 400)):gsub('["\\]', "'") .. '"'
end

-- One line of the log, key=value. Names are given in the order in which they are read.
local function log_line(settings, job, fields)
  local parts = { "sextant: event=" .. (job.kind or "submit"), "mode=" .. settings.mode }
  for _, pair in ipairs(fields) do
    local name, value = pair[1], pair[2]
    if value ~= nil and value ~= "" then parts[#parts + 1] = name .. "=" .. value end
  end
  parts[#parts + 1] = string.format("errors=%d unanswered=%d", sextant_counts.errors,
                                    sextant_counts.unanswered)
  return table.concat(parts, " ")
end

-- "SEXTANT_DEVICES=16 SEXTANT_TP=2", in the order of names.
function admission.layout_text(layout)
  local parts = {}
  for name, value in pairs(layout) do parts[#parts + 1] = name .. "=" .. value end
  table.sort(parts)
  return table.concat(parts, " ")
end

-- The warning where the job's own limit ends before the predicted time, or nil.
local function time_warning(job, answer)
  local limit, predicted = job.time_limit_min, answer.time_limit_s
  if not limit or not predicted or predicted <= limit * 60 then return nil end
  return string.format("--time is %d minutes, and the run may take %d", limit,
                       math.ceil(predicted / 60))
end

-- The answer as lines for the user, and whether the job is to be refused.
local function judge(job, answer)
  if answer.refusal then return { "refused: " .. answer.refusal }, true, "REFUSED" end
  local lines = { answer.message }
  if answer.change ~= "" then lines[#lines + 1] = answer.change end
  lines[#lines + 1] = time_warning(job, answer)
  return lines, answer.verdict == "DOES_NOT_FIT", answer.verdict
end

-- The decision as the caller has it: every line says the count that was judged.
local function decided(settings, job, found)
  local is_refused = found.refuse and settings.mode == "refuse"
  local who = found.count and string.format("sextant [%d GPUs]: ", found.count) or "sextant: "
  local lines = {}
  for index, text in ipairs(found.lines) do lines[index] = who .. words.printable(text) end
  if found.refuse and not is_refused then
    lines[#lines + 1] = who .. "this site only observes: the job is queued"
  end
  if found.note then lines[#lines + 1] = "sextant: " .. found.note end
  return {
    action = is_refused and "refuse" or "pass", verdict = found.verdict, count = found.count,
    lines = lines, layout = found.layout or {}, words = found.words, from = found.from,
    admin = string.format("[sextant: %s]", words.printable(found.lines[1]):gsub("[%[%]]", "'")),
    log = log_line(settings, job, {
      { "action", is_refused and "refuse" or "pass" }, { "verdict", found.verdict },
      { "gpus", found.count and string.format("%d", found.count) },
      { "accelerator", found.accelerator and quoted(found.accelerator) },
      { "job", job.id and string.format("%d", job.id) }, { "user", job.user and quoted(job.user) },
      { "name", job.name and quoted(job.name) },
      { "ms", found.seconds and string.format("%.1f", 1000 * found.seconds) },
      { "layout", found.layout and next(found.layout) and
                  quoted(admission.layout_text(found.layout)) },
      { "line", quoted(found.lines[1]) },
    }),
  }
end

-- As planner.admit, with the counts that no planner has yet, for its /metrics. A planner that answers
-- has counted them, so that the sum over several planners is right.
local function ask_and_tell(settings, request)
  local sent = {}
  for name, known in pairs(told) do
    sent[name] = math.min(sextant_counts[name] - known, MOST_COUNT)
  end
  request.caller.errorCount = sent.errors > 0 and sent.errors or nil
  request.caller.unansweredCount = sent.unanswered > 0 and sent.unanswered or nil
  local admit = require("sextant.planner").admit
  local answer, why, kind = admit(settings, request)
  if not answer and why:find("^HTTP 400 ") and (sent.errors > 0 or sent.unanswered > 0) then
    -- An older planner, which does not know these fields: else it would judge no job any more.
    request.caller.errorCount, request.caller.unansweredCount = nil, nil
    return admit(settings, request)
  end
  if answer then
    for name, count in pairs(sent) do told[name] = told[name] + count end
  end
  return answer, why, kind
end

local KINDS = { away = "away", late = "late", open = "left alone", odd = "not understood" }

-- job: the fields that words.find and gpus.count take, and, each or nil: user, name, partition
-- (texts), uid, id, time_limit_min (numbers), is_part (true: of a heterogeneous job), kind
-- ("submit", "modify", "cli": for the log). ask: as planner.admit; nil: the controller's
-- hook asks, which tells the planner what it has counted. -> { action = "pass" | "refuse", lines =
-- { for the user }, layout = { SEXTANT_TP = "2" }, log = one line, or nil where the job is none of
-- ours; and where it was judged verdict ("NOT_JUDGED", "NOT_PLANNED", "REFUSED" or the planner's),
-- count, admin = text for AdminComment, words and from (as words.find has them) }.
function admission.decide(settings, job, ask)
  local nothing = { action = "pass", lines = {}, layout = {} }
  if settings.mode == "off" or is_exempt(settings, job) then return nothing end
  local text, why, note, from = words.find(job)
  if not text and not why then
    if note then nothing.lines[1] = "sextant: " .. note end
    return nothing
  end
  local function unanswered(verdict, line, found)
    sextant_counts.unanswered = sextant_counts.unanswered + 1
    found = found or { words = text, from = from, note = note }
    found.verdict, found.lines = verdict, { line }
    return decided(settings, job, found)
  end
  if not text then return unanswered("NOT_JUDGED", "not judged: " .. why) end
  if job.is_part then
    return unanswered("NOT_JUDGED", "not judged: it is a part of a heterogeneous job")
  end
  local got
  got, why = gpus.count(settings, job)
  if not got then return unanswered("NOT_JUDGED", "not judged: " .. why) end
  local planner = require "sextant.planner"
  local started = planner.now()
  local answer, failed, kind = (ask or ask_and_tell)(
    settings, planner.request(settings, text, got, job))
  local found = { words = text, from = from, note = note, count = got.count,
                  accelerator = got.accelerator, seconds = planner.now() - started }
  if not answer then
    return unanswered("NOT_PLANNED", string.format(
      "not planned: the planner is %s: %s; the job is queued", KINDS[kind], failed), found)
  end
  found.lines, found.refuse, found.verdict = judge(job, answer)
  found.layout = answer.layout
  return decided(settings, job, found)
end

return admission
