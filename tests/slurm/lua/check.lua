-- What the tests of the modules share. Lua runs them as `lua TEST.lua ROOT`.

local root = arg[1]
package.path = root .. "/deploy/slurm/?.lua;" .. package.path

local check = { root = root, done = 0, failed = 0 }

-- A value as text, tables in the order of their keys.
local function shown(value)
  if type(value) ~= "table" then
    return type(value) == "string" and string.format("%q", value) or
           type(value) == "number" and string.format("%.14g", value) or tostring(value)
  end
  local parts = {}
  for key, each in pairs(value) do parts[#parts + 1] = shown(key) .. "=" .. shown(each) end
  table.sort(parts)
  return "{" .. table.concat(parts, ", ") .. "}"
end

local function count(is_right, text)
  check.done = check.done + 1
  if not is_right then
    check.failed = check.failed + 1
    io.stderr:write(_VERSION, ": ", text, "\n")
  end
end

function check.equal(name, got, expected)
  count(shown(got) == shown(expected), name .. ": " .. shown(got) .. ", not " .. shown(expected))
end

-- That `text` has `part`; or, where that is nil, that there is no text.
function check.has(name, text, part)
  count(part and type(text) == "string" and text:find(part, 1, true) or not part and text == nil,
        name .. ": " .. shown(text) .. " has not: " .. shown(part))
end

function check.ends()
  if check.done == 0 or check.failed > 0 then os.exit(1) end
end

return check
