-- sextant-slurm doctor: what Slurm's hooks need on this host, one line each.

local site = require "sextant.site"

local doctor = {}

local Report = {}
Report.__index = Report

function Report:say(state, line)
  print(string.format("%-5s %s", state, line))
  if state == "FAIL" then self.failures = self.failures + 1 end
end

local function quoted(text) return "'" .. text:gsub("'", "'\\''") .. "'" end

-- The output of a shell command, and whether it ended with 0.
local function output_of(command)
  local pipe = io.popen("{ " .. command .. "; } 2>&1; echo \"exit $?\"")
  local text = pipe and pipe:read("*a") or ""
  if pipe then pipe:close() end
  local output, code = text:match("^(.-)exit (%d+)\n$")
  return output or text, code == "0"
end

-- `scontrol show config` as a table, or nil.
local function slurm_config()
  local text, ok = output_of("scontrol show config")
  if not ok then return nil, text:match("^[^\n]*") end
  local config = {}
  for name, value in text:gmatch("([%w_]+)%s*= ([^\n]*)") do config[name] = value end
  return config
end

local function has_word(list, word)
  return ("," .. (list or "") .. ","):find("," .. word .. ",", 1, true) ~= nil
end

local function check_file(report, path, config)
  local settings, why = site.read(path)
  if not settings then
    report:say("FAIL", (why:find(path, 1, true) and "" or path .. ": ") .. why .. "; mode is off until then")
    return nil
  end
  report:say("ok", path .. ": mode " .. settings.mode)
  local owner = config and (config.SlurmUser or ""):match("^[^(]+")
  if owner and owner ~= "root" then
    local said, ok = output_of("setpriv --reuid=" .. quoted(owner) .. " --clear-groups test -r " ..
                               quoted(path))
    if said ~= "" then report:say("WARN", "whether " .. owner .. " can read it was not tried: run as root")
    elseif not ok then report:say("FAIL", owner .. ", who runs slurmctld, can't read " .. path)
    else report:say("ok", owner .. ", who runs slurmctld, can read it") end
  end
  local mode = output_of("stat -L -c %a " .. quoted(path)):match("(%d)\n$")
  if mode and tonumber(mode) < 4 then
    report:say("WARN", "users can't read " .. path .. ": cli_filter.lua is off for them; chmod 644")
  end
  return settings
end

-- The interpreter of the Lua version that a plugin is linked with, and the version.
local function lua_of(plugin)
  local version = output_of("ldd " .. quoted(plugin)):match("liblua[%-]?(5%.?%d)")
  if not version then return nil, "which Lua it is linked with is not found" end
  version = version:gsub("^5(%d)$", "5.%1")
  for _, name in ipairs({ "lua" .. version, "lua-" .. version, "lua" }) do
    local said = output_of(name .. " -v")
    if said:find("Lua " .. version, 1, true) then return name, version end
  end
  return nil, "lua" .. version .. " is not installed, so that its modules can't be tried"
end

-- What `lua` says to a script. It takes modules from the current folder, which is anybody's: one of
-- root's is that.
local function run(lua, script) return output_of("cd / && " .. lua .. " -e " .. quoted(script)) end

local STUB = "slurm = setmetatable({}, { __index = function(_, name) return name:find('^log') and " ..
             "function() end or 0 end }) dofile(%q)"

-- The hook `script` under the Lua of its plugin.
local function check_hook(report, config, kind, script)
  local plugin = (config.PluginDir or "/usr/lib/slurm") .. "/" .. kind .. "_lua.so"
  local file = io.open(plugin, "rb")
  if not file then
    report:say("FAIL", plugin .. " is missing: on Debian, slurm-wlm-basic-plugins has it")
    return
  end
  file:close()
  local lua, version = lua_of(plugin)
  if not lua then report:say("WARN", plugin .. ": " .. version) return end
  local said, ok = run(lua, 'require "socket" require "cjson"')
  if not ok then
    report:say("FAIL", plugin .. ": Lua " .. version .. " lacks socket or cjson (Debian: lua-socket, " ..
               "lua-cjson): " .. said:match("^[^\n]*"))
    return
  end
  report:say("ok", plugin .. ": Lua " .. version .. " with socket and cjson")
  said, ok = run(lua, string.format(STUB, script))
  if ok then report:say("ok", script .. " loads")
  else report:say("FAIL", script .. ": " .. said:match("^[^\n]*")) end
end

-- Whether slurm.conf names the plugin, and its script is there; the lines that are missing.
local function check_slurm(report, config, modules, missing)
  local folder = (config.SLURM_CONF or "/etc/slurm/slurm.conf"):match("^(.*)/[^/]*$")
  for _, hook in ipairs({ { "JobSubmitPlugins", "job_submit" }, { "CliFilterPlugins", "cli_filter" } }) do
    local setting, kind = hook[1], hook[2]
    local script = folder .. "/" .. kind .. ".lua"
    local file = io.open(script, "rb")
    local text = file and file:read("*a")
    if file then file:close() end
    if not text then
      report:say("FAIL", script .. " is missing: ln -s " .. modules .. "/" .. kind .. ".lua " .. script)
    elseif not text:find("sextant", 1, true) then
      report:say("FAIL", script .. " does not call Sextant: docs/schedulers.md says how to add it")
    else
      check_hook(report, config, kind, script)
    end
    -- Without its script slurmctld does not start, so the line comes after it.
    if has_word(config[setting], "lua") then report:say("ok", setting .. " has lua")
    else
      report:say("FAIL", "slurm.conf: " .. setting .. " lacks lua")
      local given = config[setting]
      given = given and given ~= "(null)" and given .. "," or ""
      missing[#missing + 1] = setting .. "=" .. given .. "lua"
    end
  end
end

-- The planner's answer to a question that every planner can answer, for the product of `row`.
local function check_planner(report, settings, row)
  local planner = require "sextant.planner"
  local ok, socket = pcall(require, "socket")
  local began = ok and socket.gettime() or 0
  local asked, answer, why = pcall(planner.admit, settings, {
    words = "llama-3.1-8b --tp=1 --gbs=64 --sequence-length=8192", deviceCount = 8,
    accelerator = row.accelerator, nodeType = row.node_type, caller = { jobName = "doctor" } })
  if not asked then answer, why = nil, tostring(answer):match("^[^\n]*") end
  local ms = math.ceil(1000 * ((ok and socket.gettime() or 0) - began))
  if not answer then
    report:say("FAIL", string.format("the planner at %s: %s; the deadline is %d ms", settings.address,
                                     tostring(why), settings.deadline_ms))
    return false
  end
  local message = answer.message or answer.refusal or ""
  if message:find("is not known", 1, true) then report:say("FAIL", message)
  else
    report:say("ok", string.format("the planner at %s knows %s%s: %d ms of %d", settings.address,
                                   row.accelerator, row.node_type and " in " .. row.node_type or "", ms,
                                   settings.deadline_ms))
  end
  return true
end

-- As gpus.count finds it: of GPUs without a type ("") any row of the partition.
local function row_of(settings, kind, partition)
  for _, row in ipairs(settings.devices) do
    if (kind == "" or row.gres == kind) and (row.partition == nil or row.partition == partition) then
      return row
    end
  end
end

-- Every kind of GPU that a node has, in every partition of it, against `devices`.
local function check_devices(report, settings)
  local text, ok = output_of("scontrol -o show node")
  if not ok then report:say("FAIL", "scontrol show node: " .. text:match("^[^\n]*")) return end
  local seen, found = {}, false
  for line in text:gmatch("[^\n]+") do
    local gres, partitions = line:match(" Gres=(%S+)"), line:match(" Partitions=(%S+)") or ""
    for kind, count in (gres or ""):gsub("%b()", ""):gmatch("gpu:?([^:,]*):(%d+)") do
      for partition in partitions:gmatch("[^,]+") do
        found = true
        local named = string.format("gpu%s of partition %s", kind ~= "" and ":" .. kind or "", partition)
        local row = row_of(settings, kind, partition)
        local line_of_it = not row and { "WARN", named .. " is not in devices: jobs there are not judged" }
          or row.gpus_per_node and row.gpus_per_node ~= tonumber(count) and
             { "FAIL", string.format("%s: a node has %s, gpus_per_node says %d", named, count,
                                     row.gpus_per_node) }
          or { "ok", named .. " is " .. row.accelerator }
        if not seen[line_of_it[2]] then report:say(line_of_it[1], line_of_it[2]) end
        seen[line_of_it[2]] = true
      end
    end
  end
  if not found then report:say("WARN", "no node has a GRES gpu") end
end

-- The exit code: 1 where something has to be corrected.
function doctor.main(path)
  path = path or site.PATH
  local report = setmetatable({ failures = 0 }, Report)
  local modules = os.getenv("SEXTANT_SLURM_MODULES") or "/usr/share/sextant/slurm"
  local config, why = slurm_config()
  local missing = {}
  if config then check_slurm(report, config, modules, missing)
  else report:say("FAIL", "scontrol show config: " .. tostring(why)) end
  local settings = check_file(report, path, config)
  if settings then
    local asked, answers = {}, true
    if #settings.devices == 0 then report:say("FAIL", path .. ": devices is empty: no job is judged") end
    local rows = #settings.devices > 0 and settings.devices or { { accelerator = "h100-sxm" } }
    for _, row in ipairs(rows) do
      local product = row.accelerator .. " " .. (row.node_type or "")
      if answers and not asked[product] then answers = check_planner(report, settings, row) end
      asked[product] = true
    end
    if config then check_devices(report, settings) end
  end
  if #missing > 0 then
    print("\nslurm.conf, then scontrol reconfigure:")
    for _, line in ipairs(missing) do print("  " .. line) end
  end
  return report.failures > 0 and 1 or 0
end

return doctor
