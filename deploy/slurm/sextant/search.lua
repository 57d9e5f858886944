-- A decision for which a layout is searched, where words give none: on login nodes, where a user waits,
-- never in the controller.

local admission = require "sextant.admission"
local options = require "sextant.options"
local planner = require "sextant.planner"
local words = require "sextant.words"

local search = {}

-- As planner.admit, but not counted as the controller's: sextant_admissions_total of caller "slurm" says
-- whether job_submit.lua asks. A long search has all but 0.3 s of the time, for the way.
local function ask(settings, request)
  request.caller.scheduler = nil
  local ms = math.max(settings.deadline_ms / 2, settings.deadline_ms - 300)
  request.budget = string.format("%.3fs", ms / 1000)
  return planner.admit(settings, request)
end

-- The settings for a job that names no partition. Only the controller knows the default one: all rows
-- count here, and have to agree.
local function for_any_partition(settings)
  local rows = {}
  for index, row in ipairs(settings.devices) do
    rows[index] = setmetatable({ partition = false }, { __index = row })
  end
  return setmetatable({ devices = rows }, { __index = settings })
end

-- job, found: the job as admission.decide takes it, and its words. -> its decision, and the layout as
-- words where one was searched, else "".
function search.decide(settings, job, found)
  if not job.partition then settings = for_any_partition(settings) end
  local answer = admission.decide(settings, job, ask)
  if answer.verdict == "UNKNOWN" and settings.search_s > 0 then
    local patient = { deadline_ms = math.max(settings.deadline_ms, 1000 * settings.search_s) }
    answer = admission.decide(setmetatable(patient, { __index = settings }), job, ask)
  end
  local layout = options.layout_words(answer.layout, found)
  if layout == "" then return answer, "" end
  -- The words with the layout have to mean the same.
  local whole = { comment = words.to_comment(nil, found .. " " .. layout) }
  local checked = admission.decide(settings, setmetatable(whole, { __index = job }), ask)
  if checked.verdict ~= answer.verdict then return answer, "" end
  return checked, layout
end

return search
