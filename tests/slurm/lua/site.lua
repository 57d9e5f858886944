-- sextant/site.lua: what the site's file may say.

local check = dofile(arg[1] .. "/tests/slurm/lua/check.lua")
local site = require "sextant.site"
local PATH = os.getenv("SEXTANT_SLURM_FILE")

local function read(text)
  local file = assert(io.open(PATH, "wb"))
  file:write(text)
  file:close()
  return site.read()
end

local found, why = site.read()
check.equal("no file", found, nil)
check.has("no file", why, PATH)

found, why = site.read("/")
check.equal("a folder", found, nil)
check.has("a folder", why, "/: ")

-- What is shipped can be used as it is.
found, why = site.read(check.root .. "/deploy/slurm/slurm.lua")
check.equal("the shipped file", why, nil)
check.equal("the shipped mode", found.mode, "observe")

found, why = read("")
check.equal("an empty file is off", found, {
  mode = "off", address = "127.0.0.1:9464", deadline_ms = 300, breaker_s = 30, search_s = 3, devices = {},
  exempt_users = {}, exempt_partitions = {}, admin_comment = false })

-- A line; name and value that it gives.
for text, case in pairs {
  ['mode = "refuse"'] = { "mode", "refuse" }, ['mode = "observe" -- x'] = { "mode", "observe" },
  ["deadline_ms = 10 * 10"] = { "deadline_ms", 100 }, ["breaker_s = 0"] = { "breaker_s", 0 },
  ['address = "[::1]:80"'] = { "address", "[::1]:80" },
  ['address = "unix:/run/x"'] = { "address", "unix:/run/x" },
  ['exempt_users = {"root", "1001"}'] = { "exempt_users", { "root", "1001" } },
  ["admin_comment = true"] = { "admin_comment", true },
  ['devices = {{gres = "h100", accelerator = "h100-sxm", gpus_per_node = 8}}'] = {
    "devices", { { gres = "h100", accelerator = "h100-sxm", gpus_per_node = 8 } } },
} do
  found, why = read(text .. "\n")
  check.equal(text, why, nil)
  check.equal(text, found and found[case[1]], case[2])
end

-- A line; part of what is said of it.
for text, part in pairs {
  ['mode = "on"'] = 'mode has to be "off"', ["mode = 1"] = "mode has to be", ["modes = 1"] = "modes: no such",
  ["deadline_ms = 0"] = "deadline_ms has to be", ["deadline_ms = 1.5"] = "deadline_ms has to be",
  ['deadline_ms = "300"'] = "deadline_ms has to be", ["deadline_ms = 1e9"] = "deadline_ms has to be",
  ["breaker_s = -1"] = "breaker_s has to be", ["search_s = 11"] = "search_s has to be",
  ['admin_comment = "no"'] = "admin_comment has to be", ['exempt_users = "root"'] = "exempt_users has to be",
  ["exempt_users = {1}"] = "exempt_users has to be", ["exempt_partitions = 1"] = "exempt_partitions has",
  ["devices = 1"] = "devices has to be", ["devices = {1}"] = "devices[1] has to be",
  ['devices = {{gres = "x"}}'] = "devices[1].accelerator is missing",
  ['devices = {{accelerator = 1}}'] = "devices[1].accelerator has a wrong value",
  ['devices = {{accelerator = "x", partion = "y"}}'] = "devices[1].partion: no such",
  ['devices = {{accelerator = "x", gpus_per_node = 0}}'] = "devices[1].gpus_per_node has a wrong",
  ["mode = "] = "unexpected symbol", ["mode = x.y"] = ":1:", ['os.execute("true")'] = ":1:", ["print(1)"] = ":1:",
  ["\27Lua"] = "compiled Lua", [("-"):rep(65537)] = "longer than 64 KiB",
  ['address = "localhost:80"'] = "looked up", ['address = "planner.example:80"'] = "looked up",
  ['address = "127.0.0.1"'] = "looked up", ['address = "127.0.0.256:80"'] = "looked up",
  ['address = "127.0.1:80"'] = "looked up", ['address = "127.0.0.1:0"'] = "looked up",
  ['address = "127.0.0.1:65536"'] = "looked up", ['address = "::1:80"'] = "looked up",
  ['address = "http://127.0.0.1:80"'] = "looked up", ['address = "unix:x"'] = "looked up",
} do
  found, why = read(text .. "\n")
  check.equal(text, found, nil)
  check.has(text, why, part)
end

check.equal("by address", site.endpoint("127.0.0.1:9464"), { host = "127.0.0.1", port = 9464 })
check.equal("by IPv6", site.endpoint("[fd00::1]:80"), { host = "fd00::1", port = 80 })
check.equal("by socket", site.endpoint("unix:/run/x y"), { path = "/run/x y" })

check.ends()
