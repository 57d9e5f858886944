-- The site's file, /etc/sextant/slurm.lua: assignments to the names below. It is read at each call,
-- so that an edit needs no restart.

local site = {}

site.PATH = "/etc/sextant/slurm.lua"

local MOST_BYTES = 65536  -- of the file

local DEFAULTS = {
  mode = "off",
  address = "127.0.0.1:9464",
  deadline_ms = 300,
  breaker_s = 30,
  search_s = 3,  -- cli_filter.lua and sextant-sbatch, where words give no layout
  devices = {},
  exempt_users = {},
  exempt_partitions = {},
  admin_comment = false,
}

-- address -> { host =, port = } or { path = }; or nil and what is wrong. A name would be looked up,
-- which has no time limit.
function site.endpoint(address)
  local path = address:match("^unix:(/.+)$")
  if path then return { path = path } end
  local host, port = address:match("^%[([%x:.]+)%]:(%d+)$")
  if not host then
    host, port = address:match("^([%d.]+):(%d+)$")
    local bytes = { (host or ""):match("^(%d+)%.(%d+)%.(%d+)%.(%d+)$") }
    for _, byte in ipairs(bytes) do
      if tonumber(byte) > 255 then host = nil end
    end
    if #bytes ~= 4 then host = nil end
  end
  port = tonumber(port)
  if not host or port < 1 or port > 65535 then
    return nil, 'has to be "IP:PORT", "[IPv6]:PORT" or "unix:/PATH", as a name would be looked up'
  end
  return { host = host, port = port }
end

local function is_string(value) return type(value) == "string" end

local function is_names(value)
  if type(value) ~= "table" then return false end
  for index, name in pairs(value) do
    if type(index) ~= "number" or not is_string(name) then return false end
  end
  return true
end

local function is_whole(value, least, most)
  return type(value) == "number" and value % 1 == 0 and value >= least and value <= most
end

local DEVICE = {
  gres = is_string,
  partition = is_string,
  accelerator = is_string,
  node_type = is_string,
  gpus_per_node = function(value) return is_whole(value, 1, 1024) end,
}

-- What is wrong with the rows of `devices`, or nil.
local function devices_fault(rows)
  if type(rows) ~= "table" then return "devices has to be a list of rows" end
  for index, row in pairs(rows) do
    local name = "devices[" .. tostring(index) .. "]"
    if type(row) ~= "table" or type(index) ~= "number" then return name .. " has to be a row" end
    for key, value in pairs(row) do
      if not DEVICE[key] then return name .. "." .. tostring(key) .. ": no such setting" end
      if not DEVICE[key](value) then return name .. "." .. key .. " has a wrong value" end
    end
    if not row.accelerator then return name .. ".accelerator is missing" end
  end
end

local MODES = { off = true, observe = true, refuse = true }

-- name -> function(value) -> nil, or what is wrong.
local CHECKS = {
  mode = function(value)
    if not MODES[value] then return 'mode has to be "off", "observe" or "refuse"' end
  end,
  address = function(value)
    if not is_string(value) then return "address has to be a text" end
    local _, why = site.endpoint(value)
    return why and "address " .. why
  end,
  deadline_ms = function(value)
    if not is_whole(value, 1, 10000) then return "deadline_ms has to be 1 to 10000" end
  end,
  breaker_s = function(value)
    if not is_whole(value, 0, 3600) then return "breaker_s has to be 0 to 3600" end
  end,
  search_s = function(value)
    if not is_whole(value, 0, 10) then return "search_s has to be 0 to 10" end
  end,
  devices = devices_fault,
  exempt_users = function(value)
    if not is_names(value) then return "exempt_users has to be a list of names" end
  end,
  exempt_partitions = function(value)
    if not is_names(value) then return "exempt_partitions has to be a list of names" end
  end,
  admin_comment = function(value)
    if type(value) ~= "boolean" then return "admin_comment has to be true or false" end
  end,
}

-- Runs `text`, which can reach nothing but its own assignments, and fills `into`.
local function run(text, name, into)
  if text:sub(1, 1) == "\27" then return nil, "is compiled Lua, not text" end
  local chunk, why
  if setfenv then  -- Lua 5.1
    chunk, why = loadstring(text, "=" .. name)
    if chunk then setfenv(chunk, into) end
  else
    chunk, why = load(text, "=" .. name, "t", into)
  end
  if not chunk then return nil, why end
  local ok, failed = pcall(chunk)
  if not ok then return nil, tostring(failed) end
  return into
end

-- The settings, complete; or nil and why the file can't be used. Without `path` the variable
-- SEXTANT_SLURM_FILE of the process says which file.
function site.read(path)
  path = path or os.getenv("SEXTANT_SLURM_FILE") or site.PATH
  local file, why = io.open(path, "rb")
  if not file then return nil, why end
  local text, unreadable = file:read(MOST_BYTES + 1)
  file:close()
  if unreadable then return nil, path .. ": " .. unreadable end
  text = text or ""  -- an empty file
  if #text > MOST_BYTES then return nil, path .. " is longer than 64 KiB" end
  local given, failed = run(text, path, {})
  if not given then return nil, failed end
  for name, value in pairs(given) do
    local check = CHECKS[name]
    if not check then return nil, path .. ": " .. tostring(name) .. ": no such setting" end
    local fault = check(value)
    if fault then return nil, path .. ": " .. fault end
  end
  for name, value in pairs(DEFAULTS) do
    if given[name] == nil then given[name] = value end
  end
  return given
end

return site
