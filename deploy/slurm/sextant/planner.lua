-- One question to the planner, POST /sextant.v1.PlanningService/Admit over HTTP, within a time
-- limit of the whole; and a circuit breaker, without which each job of a queue would wait for that
-- limit while Slurm's controller waits with it.

local site = require "sextant.site"
local words = require "sextant.words"

local planner = {}

local MOST_HEAD = 8192
local MOST_BODY = 65536  -- an answer has about 10 kB: AdmitResponse's own limits
local MOST_LINE = 400    -- as AdmitResponse.message
local MOST_NAME = 256    -- AdmitCaller.job_name, user

-- Address -> time until which nobody asks there. A global, as it has to outlive the call: Slurm
-- keeps the Lua state as long as the hook's file stays the same.
sextant_breakers = sextant_breakers or {}

-- Seconds of a clock that other programs may set.
function planner.now() return require("socket").gettime() end

-- Whether this request may ask. One may when an open breaker's time is over; until it has its
-- answer the breaker is open to others, and stays so if it ends in an error.
local function may_ask(settings, now)
  local ends = sextant_breakers[settings.address]
  if not ends then return true end
  -- Farther away than the breaker's own time: the clock was set back.
  if now < ends and ends - now <= settings.breaker_s then return false end
  sextant_breakers[settings.address] = now + settings.breaker_s
  return true
end

-- Silence alone opens the breaker: were it every error, one user's words could switch the check off
-- for all.
local function note(settings, kind)
  local silent = kind == "away" or kind == "late"
  sextant_breakers[settings.address] =
    silent and settings.breaker_s > 0 and planner.now() + settings.breaker_s or nil
end

-- A socket and what limits its waits: `arm` before each call of it gives the time that is left, and
-- is false where none is.
local function open(endpoint, seconds)
  local started = planner.now()
  local wire
  if endpoint.path then
    local unix = require "socket.unix"
    wire = (type(unix) == "table" and (unix.stream or unix.tcp) or unix)()
  else
    wire = require("socket").tcp()
  end
  local function arm()
    local now = planner.now()
    local left = started + seconds - now
    if now < started or left <= 0 then return false end
    wire:settimeout(left, "t")  -- of a whole call, which may read many times
    return true
  end
  return wire, arm
end

local function why_silent(failed)
  if failed == "timeout" then return nil, "it did not answer in time", "late" end
  return nil, tostring(failed), "odd"
end

-- `most` bytes at most, up to the end of the connection or `length` bytes.
local function read_body(wire, arm, length)
  if length and length > MOST_BODY then return nil, "its answer is too long", "odd" end
  local parts, size = {}, 0
  while not length or size < length do
    if not arm() then return why_silent("timeout") end
    local want = math.min(4096, length and length - size or 4096)
    local bytes, failed, rest = wire:receive(want)
    local part = bytes or rest or ""
    parts[#parts + 1], size = part, size + #part
    if size > MOST_BODY then return nil, "its answer is too long", "odd" end
    if failed == "closed" then break end
    if failed then return why_silent(failed) end
  end
  if length and size < length then return nil, "its answer ends early", "odd" end
  return table.concat(parts)
end

-- The head of an answer, with the empty line at its end. Byte by byte, from LuaSocket's buffer: its
-- lines have no limit.
local function read_head(wire, arm)
  local parts, seen = {}, 0  -- of "\r\n\r\n"
  while seen < 4 do
    if not arm() then return why_silent("timeout") end
    local byte, failed = wire:receive(1)
    if not byte then
      if failed == "closed" then return nil, "it closed the connection", "odd" end
      return why_silent(failed)
    end
    parts[#parts + 1] = byte
    if #parts > MOST_HEAD then return nil, "its answer is no HTTP", "odd" end
    if byte == (seen % 2 == 0 and "\r" or "\n") then seen = seen + 1
    else seen = byte == "\r" and 1 or 0 end
  end
  return table.concat(parts)
end

local function send(wire, arm, text)
  local from = 1
  while from <= #text do
    if not arm() then return why_silent("timeout") end
    local last, failed, partly = wire:send(text, from)
    if not last then
      if failed ~= "timeout" or (partly or 0) < from then return why_silent(failed) end
      last = partly
    end
    from = last + 1
  end
  return true
end

-- Status and body of the answer to one POST of JSON; or nil, why, and "away", "late" or "odd".
local function post(settings, body)
  local endpoint, fault = site.endpoint(settings.address)
  if not endpoint then return nil, "address " .. fault, "odd" end
  local wire, arm = open(endpoint, settings.deadline_ms / 1000)
  local function all()
    if not arm() then return why_silent("timeout") end
    local ok, failed = wire:connect(endpoint.path or endpoint.host, endpoint.port)
    if not ok then return nil, tostring(failed), failed == "timeout" and "late" or "away" end
    local host = endpoint.path and "localhost" or settings.address
    local sent, why, kind = send(wire, arm, table.concat({
      "POST /sextant.v1.PlanningService/Admit HTTP/1.0", "Host: " .. host,
      "Content-Type: application/json", "Connection: close",
      "Connect-Timeout-Ms: " .. math.floor(settings.deadline_ms),
      "Content-Length: " .. #body, "", body }, "\r\n"))
    if not sent then return nil, why, kind end
    local head
    head, why, kind = read_head(wire, arm)
    if not head then return nil, why, kind end
    local status = tonumber(head:match("^HTTP/1%.[01] (%d%d%d)[ \r]"))
    if not status then return nil, "its answer is no HTTP", "odd" end
    local text
    local length = tonumber(head:lower():match("\ncontent%-length:%s*(%d+)"))
    text, why, kind = read_body(wire, arm, length)
    if not text then return nil, why, kind end
    return status, text
  end
  local ok, status, text, kind = pcall(all)
  wire:close()
  if not ok then return nil, tostring(status), "odd" end
  return status, text, kind
end

local function line(text)
  text = words.printable(type(text) == "string" and text or "")
  if #text > MOST_LINE then text = text:sub(1, MOST_LINE - 3) .. "..." end
  return text
end

-- Variables of a job's environment: these alone are taken from an answer.
local function layout_of(given)
  local layout = {}
  for name, value in pairs(type(given) == "table" and given or {}) do
    if type(name) == "string" and name:find("^SEXTANT_[A-Z0-9_]+$") and #name <= 64 and
       name ~= words.VARIABLE and name ~= "SEXTANT_ADDRESS" and
       type(value) == "string" and #value <= 64 and value:find("^[%w_.,:+-]*$") then
      layout[name] = value
    end
  end
  return layout
end

local VERDICTS = {
  VERDICT_FITS = "FITS", VERDICT_TIGHT = "TIGHT", VERDICT_DOES_NOT_FIT = "DOES_NOT_FIT",
  VERDICT_UNKNOWN = "UNKNOWN",
}

local function answer_of(content)
  local verdict = VERDICTS[content.verdict]
  if not verdict then return nil, "its answer has no verdict", "odd" end
  local limit = type(content.timeLimit) == "string" and content.timeLimit:match("^(%d+%.?%d*)s$")
  return {
    verdict = verdict, message = line(content.message), change = line(content.change),
    layout = layout_of(content.layout), time_limit_s = tonumber(limit or nil),
  }
end

-- The faults of the user's words; nil where the error is about anything else, such as a request
-- that another version of the planner does not know.
local function refusal_of(content)
  if content.code ~= "invalid_argument" then return nil end
  local faults = {}
  for _, detail in ipairs(type(content.details) == "table" and content.details or {}) do
    local debug = type(detail) == "table" and type(detail.debug) == "table" and detail.debug
    local violations = debug and debug.fieldViolations
    for _, fault in ipairs(type(violations) == "table" and violations or {}) do
      if type(fault) ~= "table" or fault.field ~= "words" then return nil end
      faults[#faults + 1] = tostring(fault.description)
    end
  end
  return faults[1] and { refusal = line(table.concat(faults, "; ")) }
end

local function ask(settings, request)
  local json = require "cjson.safe"
  local body, unwritable = json.encode(request)
  if not body then return nil, tostring(unwritable), "odd" end
  local status, text, kind = post(settings, body)
  if not status then return nil, text, kind end
  local content = json.decode(text)
  if type(content) ~= "table" then
    return nil, string.format("its answer, HTTP %d, is no JSON", status), "odd"
  end
  if status == 200 then return answer_of(content) end
  local refusal = refusal_of(content)
  if refusal then return refusal end
  return nil, line(string.format("HTTP %d %s: %s", status, tostring(content.code),
                                 tostring(content.message))),
         status == 504 and "late" or "odd"  -- deadline_exceeded
end

-- What AdmitRequest takes: texts are data, as long as they may be.
function planner.request(settings, text, gpus, job)
  return {
    words = words.utf8(text, words.MOST_BYTES),
    deviceCount = gpus.count, accelerator = gpus.accelerator, nodeType = gpus.node_type,
    caller = { scheduler = "SCHEDULER_SLURM", jobName = words.utf8(job.name or "", MOST_NAME),
               user = words.utf8(job.user or "", MOST_NAME) },
    -- Half of the time, so that a planner that takes all of it still answers UNKNOWN in time.
    budget = string.format("%.3fs", math.max(1, settings.deadline_ms / 2) / 1000),
  }
end

-- request: an AdmitRequest as JSON's table. -> { verdict = "FITS" | "TIGHT" | "DOES_NOT_FIT" |
-- "UNKNOWN", message, change, layout = { SEXTANT_TP = "2" }, time_limit_s (or nil) }, or { refusal
-- = line }; or nil, why, and a kind: "away" (no connection), "late", "open" (the breaker: not
-- asked), or "odd".
function planner.admit(settings, request)
  if not may_ask(settings, planner.now()) then
    return nil, "it did not answer a short while ago", "open"
  end
  local answer, why, kind = ask(settings, request)
  note(settings, kind)
  return answer, why and line(why), kind
end

return planner
