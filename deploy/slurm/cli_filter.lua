-- Slurm's cli_filter plugin: runs inside sbatch, salloc and srun, as their user, and refuses nothing.
--
--   slurm.conf:  CliFilterPlugins=lua
--
-- 1. srun and salloc send no environment to the controller: SEXTANT_PLAN goes into the comment, where
--    job_submit.lua reads it.
-- 2. Where the words give no layout, one is looked for here, as long as `search_s` of the site's file
--    allows, and goes into the comment with the words: the controller only checks it.
-- 3. srun's tasks get the layout as variables by --export. Batch jobs get it from job_submit.lua.
--
-- Off: mode = "off" in /etc/sextant/slurm.lua. Whatever fails, the command goes on without a plan.

local MAX_SCRIPT_BYTES = 262144  -- #SEXTANT lines stand before the first command

-- As job_submit.lua: no module comes from the current folder.
local function set_path()
  local here = debug.getinfo(1, "S").source:match("^@(/.*/)[^/]*$")
  local function absolute(path) return ((";" .. path):gsub(";[^/;][^;]*", "")) end
  package.path = (here and here .. "?.lua;" or "") .. "/usr/share/sextant/slurm/?.lua" ..
                 absolute(package.path)
  package.cpath = absolute(package.cpath)
end
set_path()

local function say(options, line)
  if options.quiet == nil or options.quiet == "unset" or options.quiet == "0" then
    io.stderr:write(options.type .. ": " .. line .. "\n")
  end
end

-- The batch script; nil where it comes from elsewhere than a plain file, which sbatch has read to its
-- end.
local function script_of(options)
  if options.wrap then return options.wrap end
  local path = options.argv[1]
  if not path or path:find("^/dev/") or path:find("^/proc/") then return nil end
  local file = io.open(path, "rb")
  if not file then return nil end
  local text = file:read(MAX_SCRIPT_BYTES)
  file:close()
  return text
end

-- Whether the command line or the script has several parts, of a heterogeneous job.
local function is_one_of_several(offset, script)
  if offset > 0 then return true end
  script = "\n" .. (script or "")
  if script:find("\n#SBATCH%s+hetjob") or script:find("\n#SBATCH%s+packjob") then return true end
  local file = io.open("/proc/self/cmdline", "rb")
  if not file then return false end
  local line = file:read(MAX_SCRIPT_BYTES) or ""
  file:close()
  return line:find("%z:%z") ~= nil
end

-- The job as admission.decide takes it, its words, and whether it is not to be judged; or nil where there
-- are no words.
local function job_of(options, offset)
  local words = require "sextant.words"
  local job = { comment = options.comment, plan = os.getenv(words.VARIABLE) }
  if options.type == "sbatch" then
    job.script = script_of(options)
    if not job.script then return nil end
  end
  local found, why = words.find(job)
  if why then say(options, "sextant: not planned: " .. why) end
  if not found then return nil end
  local set = require("cjson").decode(slurm.json_cli_options(options))
  local full, unclear = require("sextant.options").job(function(name) return set[name] end)
  full = full or {}
  full.script, full.plan, full.comment = job.script, job.plan, job.comment
  full.user, full.kind = os.getenv("USER"), "cli"
  return full, found, unclear ~= nil or is_one_of_several(offset, job.script)
end

local function set_comment(options, text)
  local words = require "sextant.words"
  local comment = words.to_comment(options.comment, text)
  if #comment > words.MOST_COMMENT then
    say(options, string.format("sextant: not planned: the comment would have %d bytes, and Slurm " ..
                               "takes %d", #comment, words.MOST_COMMENT))
  elseif comment ~= options.comment then
    options.comment = comment
  end
end

-- srun's own --export stays as it is, but for what is added. A value of the user's environment wins
-- over one that is added.
local function export(options, layout)
  local given = options.export
  if given == "NONE" or given == "NIL" then return end
  if not next(layout) then return end
  local parts = { given or "ALL" }
  for name, value in pairs(layout) do
    if name:find("^SEXTANT_[%u%d_]+$") and value:find("^[%w_.:+-]+$") then
      parts[#parts + 1] = name .. "=" .. value
    end
  end
  options.export = table.concat(parts, ",")
end

local function pre_submit(options, offset)
  local kind = options.type
  local is_step = kind == "srun" and os.getenv("SLURM_JOB_ID") ~= nil
  -- Steps of a batch job have the layout of the job.
  if kind ~= "sbatch" and kind ~= "salloc" and kind ~= "srun" then return end
  if is_step and os.getenv("ENVIRONMENT") == "BATCH" then return end
  local settings = require("sextant.site").read()
  if not settings or settings.mode == "off" then return end
  local job, found, unclear = job_of(options, offset)
  if not job then return end
  local layout = ""
  if not unclear then
    local answer
    answer, layout = require("sextant.search").decide(settings, job, found)
    if layout ~= "" then say(options, "sextant: layout found: " .. layout) end
    if kind == "srun" then export(options, answer.layout) end
  end
  if not is_step and (layout ~= "" or kind ~= "sbatch") then
    set_comment(options, layout == "" and found or found .. " " .. layout)
  end
end

function slurm_cli_setup_defaults(options, early)
  return slurm.SUCCESS
end

function slurm_cli_pre_submit(options, offset)
  local ok, why = pcall(pre_submit, options, offset)
  if not ok then slurm.log_debug("sextant: %s", tostring(why)) end
  return slurm.SUCCESS
end

function slurm_cli_post_submit(offset, job_id, step_id)
  return slurm.SUCCESS
end

return slurm.SUCCESS
