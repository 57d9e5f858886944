-- sextant-sbatch: asks the planner as sbatch's user, and prints the layout as lines for env. Exit code 1:
-- the job is refused. Where anything is not understood the job is not judged: sbatch itself says what is
-- wrong with its options.

local options = require "sextant.options"
local site = require "sextant.site"
local words = require "sextant.words"

local sbatch = {}

local function set_of(text)
  local names = {}
  for name in text:gmatch("%S+") do names[name] = true end
  return names
end

-- Options of sbatch 22.05 to 25.05 (man sbatch). Abbreviations are not known.
local WITH_VALUE = set_of [[account acctg-freq array batch bb bbf begin chdir cluster-constraint clusters
  comment constraint container container-id core-spec cores-per-socket cpu-freq cpus-per-gpu
  cpus-per-task deadline delay-boot dependency distribution error exclude export export-file extra
  extra-node-info gid gpu-bind gpu-freq gpus gpus-per-node gpus-per-socket gpus-per-task gres gres-flags
  hint input job-name kill-on-invalid-dep licenses mail-type mail-user mcs-label mem mem-bind mem-per-cpu
  mem-per-gpu mincpus network nodefile nodelist nodes ntasks ntasks-per-core ntasks-per-gpu
  ntasks-per-node ntasks-per-socket oom-kill-step open-mode output partition power prefer priority profile
  qos reservation segment signal sockets-per-node switches thread-spec threads-per-core time time-min tmp
  tres-bind tres-per-task uid wait-all-nodes wckey wrap]]
local WITHOUT_VALUE = set_of [[contiguous exclusive get-user-env help hold ignore-pbs nice no-kill
  no-requeue overcommit oversubscribe parsable propagate quiet reboot requeue resv-ports spread-job
  stepmgr test-only usage use-min-nodes verbose version wait]]  -- or with one after "=" alone
local SHORT_WITH_VALUE = { A = "account", a = "array", B = "extra-node-info", b = "begin",
  C = "constraint", c = "cpus-per-task", D = "chdir", d = "dependency", e = "error", F = "nodefile",
  G = "gpus", i = "input", J = "job-name", L = "licenses", M = "clusters", m = "distribution",
  N = "nodes", n = "ntasks", o = "output", p = "partition", q = "qos", S = "core-spec", t = "time",
  w = "nodelist", x = "exclude" }
local SHORT_WITHOUT_VALUE = { H = "hold", h = "help", k = "no-kill", O = "overcommit", Q = "quiet",
  s = "oversubscribe", V = "version", v = "verbose", W = "wait" }
local VARIABLES = { ["export"] = "SBATCH_EXPORT", ["exclusive"] = "SBATCH_EXCLUSIVE",
  ["gpus"] = "SBATCH_GPUS", ["gpus-per-node"] = "SBATCH_GPUS_PER_NODE",
  ["gpus-per-socket"] = "SBATCH_GPUS_PER_SOCKET", ["gpus-per-task"] = "SBATCH_GPUS_PER_TASK",
  ["gres"] = "SBATCH_GRES", ["job-name"] = "SBATCH_JOB_NAME", ["partition"] = "SBATCH_PARTITION",
  ["time"] = "SBATCH_TIMELIMIT" }

-- One short argument such as "-N2" or "-HN": sets options; true where the next argument is a value.
local function read_short(letters, set, value)
  for at = 1, #letters do
    local letter = letters:sub(at, at)
    local name = SHORT_WITH_VALUE[letter]
    if name then
      local attached = letters:sub(at + 1):gsub("^=", "")
      set[name] = attached ~= "" and attached or value
      return attached == "", set[name] == nil and "-" .. letter .. " has no value" or nil
    end
    if not SHORT_WITHOUT_VALUE[letter] then return nil, "-" .. letter .. " is not known" end
    set[SHORT_WITHOUT_VALUE[letter]] = ""
    if letter == "k" then return false end
  end
  return false
end

-- One long argument, without its dashes.
local function read_long(text, set, value)
  local name, attached = text:match("^([^=]*)=(.*)$")
  name = name or text
  if WITH_VALUE[name] then
    set[name] = attached or value
    return attached == nil, set[name] == nil and "--" .. name .. " has no value" or nil
  end
  if not WITHOUT_VALUE[name] then return nil, "--" .. words.printable(name) .. " is not known" end
  set[name] = attached or ""
  return false
end

-- Reads options into `set`. -> the number of the first argument that is none; or nil and what is not
-- understood.
function sbatch.read_options(arguments, set)
  local at = 1
  while arguments[at] do
    local long, short = arguments[at]:match("^%-%-(.+)$"), arguments[at]:match("^%-([^-].*)$")
    if arguments[at] == "--" then return at + 1 end
    if not long and not short then return at end
    local took, why
    if long then took, why = read_long(long, set, arguments[at + 1])
    else took, why = read_short(short, set, arguments[at + 1]) end
    if why then return nil, why end
    at = at + (took and 2 or 1)
  end
  return at
end

-- The words of a line of options as sbatch splits them: blanks, quotes, backslashes, and "#" ends them.
function sbatch.split(line)
  local found, current, quote, at = {}, nil, nil, 1
  while at <= #line do
    local byte = line:sub(at, at)
    if byte == "\\" and quote ~= "'" and at < #line then
      at = at + 1
      current = (current or "") .. line:sub(at, at)
    elseif quote then
      if byte == quote then quote = nil else current = current .. byte end
    elseif byte == '"' or byte == "'" then
      quote, current = byte, current or ""
    elseif byte:find("%s") then
      if current then found[#found + 1] = current end
      current = nil
    elseif byte == "#" and not current then
      break
    else
      current = (current or "") .. byte
    end
    at = at + 1
  end
  if current then found[#found + 1] = current end
  return found
end

-- The options of the `#SBATCH` lines before the script's first command; or nil and why not.
function sbatch.read_script(script, set)
  for line in (script .. "\n"):gmatch("([^\n]*)\n") do
    if line:find("^%s*[^#%s]") then return true end
    local text = line:match("^#SBATCH%s+(.*)$")
    if line:find("^#PBS%s") or line:find("^#BSUB%s") then return nil, "it has #PBS or #BSUB lines" end
    if text and (text:find("^hetjob") or text:find("^packjob")) then return nil, "it has several parts" end
    if text then
      local arguments = sbatch.split(text)
      local ended, why = sbatch.read_options(arguments, set)
      if not ended then return nil, why end
    end
  end
  return true
end

local function read_file(path)
  local file = io.open(path, "rb")
  local text = file and file:read(4194304)
  if file then file:close() end
  return text
end

-- arguments: sbatch's. -> the job as admission.decide takes it, its options; or nil and why it is not
-- judged.
function sbatch.job(arguments, getenv)
  local given = {}
  local script_at, why = sbatch.read_options(arguments, given)
  local path = script_at and arguments[script_at]
  local script = given.wrap or (path and not path:find("^/dev/") and not path:find("^/proc/") and
                                read_file(path)) or nil
  local texts = { script = script, plan = getenv(words.VARIABLE), comment = given.comment }
  if not script_at then return nil, why, texts end
  for at = 1, #arguments do
    if arguments[at] == ":" then return nil, "it has several parts", texts end
  end
  local set = {}
  local understood
  understood, why = sbatch.read_script(script or "", set)
  if not understood then return nil, why, texts end
  for name, variable in pairs(VARIABLES) do set[name] = getenv(variable) or set[name] end
  for name, value in pairs(given) do set[name] = value end
  local job
  job, why = options.job(function(name) return set[name] end)
  if not job then return nil, why, texts end
  job.script, job.plan, job.user, job.kind = script, texts.plan, getenv("USER"), "cli"
  return job, nil, texts, set
end

local function say(line) io.stderr:write("sextant: " .. line .. "\n") end

-- The site's file of a user who has none of the site: $SEXTANT_SLURM_FILE, or ~/.config/sextant/slurm.lua.
local function settings_of(getenv)
  local own = getenv("SEXTANT_SLURM_FILE") or (getenv("HOME") or "") .. "/.config/sextant/slurm.lua"
  local file = io.open(own, "rb")
  if file then file:close() end
  return site.read((file or getenv("SEXTANT_SLURM_FILE")) and own or nil)
end

-- Exit code 0, with the layout's lines in stdout, or 1: refused.
function sbatch.main(arguments, getenv)
  local job, why, texts, set = sbatch.job(arguments, getenv)
  local found, fault = words.find(texts)
  why = why or fault
  if not found and not why then return 0 end
  local settings
  settings, fault = settings_of(getenv)
  if not settings then say("not planned: " .. fault) return 0 end
  if settings.mode == "off" then return 0 end
  if why then say("not judged: " .. why) return 0 end
  if not pcall(require, "socket") or not pcall(require, "cjson") then
    local planner = require "sextant.planner"
    planner.admit, planner.now = require("sextant.program").admit, os.time
  end
  local answer, layout = require("sextant.search").decide(settings, job, found)
  if layout ~= "" then say("layout found: " .. layout) end
  for _, line in ipairs(answer.lines) do io.stderr:write(line .. "\n") end
  if answer.action == "refuse" then return 1 end
  local kept_out = set.export and not set.export:find("^ALL")
  if kept_out and next(answer.layout) then
    say("--export=" .. words.printable(set.export) .. " keeps the layout from the job")
  end
  for name, value in pairs(answer.layout) do
    if name:find("^SEXTANT_[%u%d_]+$") and value:find("^[%w_.:+-]+$") then print(name .. "=" .. value) end
  end
  return 0
end

return sbatch
