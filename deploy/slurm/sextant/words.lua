-- Where the words of a job come from: "sextant: llama-3.1-8b --tp=2" at the end of its comment,
-- "#SEXTANT llama-3.1-8b --tp=2" in its script, SEXTANT_PLAN in its environment. The first that has
-- some is taken: an option wins over a script, and cli_filter.lua writes into the comment what it
-- found.

local words = {}

words.MOST_BYTES = 4096  -- AdmitRequest.words
words.VARIABLE = "SEXTANT_PLAN"

words.MOST_SCRIPT = 262144  -- bytes, in which its #SEXTANT lines begin: lines cost the controller time
words.MOST_COMMENT = 1000  -- slurmctld refuses a comment over 1,024 bytes

local MARK = "sextant: "
local EXCLUSIVE = "sextant-exclusive"

-- Bytes of `text` that a terminal shows as they are; others become "?".
function words.printable(text)
  return (text:gsub("[^\32-\126]", "?"))
end

-- The length of the UTF-8 sequence at `at`, or nil: no overlong forms, no surrogates
-- (RFC 3629, section 4).
local function sequence(text, at)
  local a, b, c, d = text:byte(at, at + 3)
  if a < 0x80 then return 1 end
  local function tail(byte, low, high)
    return byte and byte >= (low or 0x80) and byte <= (high or 0xBF)
  end
  if a >= 0xC2 and a <= 0xDF then return tail(b) and 2 end
  if a >= 0xE0 and a <= 0xEF then
    return tail(b, a == 0xE0 and 0xA0, a == 0xED and 0x9F) and tail(c) and 3
  end
  if a >= 0xF0 and a <= 0xF4 then
    return tail(b, a == 0xF0 and 0x90, a == 0xF4 and 0x8F) and tail(c) and tail(d) and 4
  end
end

-- `text` as UTF-8 of at most `most` bytes: a byte that is none becomes "?".
function words.utf8(text, most)
  local parts, at, size = {}, 1, 0
  while at <= #text do
    local length = sequence(text, at)
    size = size + (length or 1)
    if size > most then break end
    parts[#parts + 1] = length and text:sub(at, at + length - 1) or "?"
    at = at + (length or 1)
  end
  return table.concat(parts)
end

-- The words of the `#SEXTANT` lines before the script's first command, as sbatch reads `#SBATCH`;
-- and whether there are others after it.
local function in_script(script)
  if not script:find("#SEXTANT", 1, true) then return nil, false end
  local found, at = {}, 1
  while at <= math.min(#script, words.MOST_SCRIPT) do
    local first = script:match("^[ \t\r]*()", at)
    local ends = script:find("\n", first, true) or #script + 1
    if first < ends then
      if script:byte(first) ~= 35 then break end  -- "#"
      local from = script:match("^#SEXTANT[ \t]+()", at)
      if from then found[#found + 1] = script:sub(from, ends - 1):gsub("\r$", "") end
    end
    at = ends + 1
  end
  at = math.max(at - 1, 1)
  local late = at <= #script and (script:find("\n#SEXTANT ", at, true) or
                                  script:find("\n#SEXTANT\t", at, true))
  return #found > 0 and table.concat(found, " ") or nil, late and true or false
end

-- The words at the end of a comment, or nil.
function words.in_comment(comment)
  local from = select(2, comment:find("^" .. MARK)) or select(2, comment:find(" " .. MARK, 1, true))
  return from and comment:sub(from + 1)
end

-- A comment with `text` as its words, instead of those that it has: what a user wrote before them
-- stays.
function words.to_comment(comment, text)
  local given = comment and words.in_comment(comment)
  if given then comment = comment:sub(1, #comment - #given - #MARK):gsub(" +$", "") end
  return (comment and comment ~= "" and comment .. " " or "") .. MARK .. text
end

-- A comment that says that the job gets whole nodes, for who can't see it otherwise.
function words.mark_exclusive(comment)
  if words.is_exclusive(comment) then return comment end
  return EXCLUSIVE .. (comment and comment ~= "" and " " .. comment or "")
end

function words.is_exclusive(comment)
  return comment ~= nil and comment:sub(1, #EXCLUSIVE) == EXCLUSIVE
end

-- job: script, plan (the value of SEXTANT_PLAN), comment: texts or nil.
-- -> the words; or nil and why they are not judged, or nil and nil where it has none. Third a note
-- for its user, or nil; fourth where they stand: "comment", "script" or "environment".
function words.find(job)
  local in_lines, late
  if job.script then in_lines, late = in_script(job.script) end
  local note = late and
    "#SEXTANT lines after the script's first command are not read, as #SBATCH lines are not" or nil
  local places = { { "comment", job.comment and words.in_comment(job.comment) },
                   { "script", in_lines }, { "environment", job.plan } }
  for _, place in ipairs(places) do
    local from, text = place[1], place[2]
    if text and text:find("%S") then
      if #text > words.MOST_BYTES then
        return nil, string.format("the request has %d bytes, and %d are read at most", #text,
                                  words.MOST_BYTES), note, from
      end
      return text, nil, note, from
    end
  end
  return nil, nil, note
end

return words
