-- sextant/words.lua: where a job's words come from.

local check = dofile(arg[1] .. "/tests/slurm/lua/check.lua")
local words = require "sextant.words"

local LONG = string.rep("x", 4097)

-- job; words, part of why not, part of the note, where they stand.
for name, case in pairs {
  ["nothing"] = { {} },
  ["no line"] = { { script = "#!/bin/sh\necho #SEXTANT a\n" } },
  ["one line"] = { { script = "#!/bin/sh\n#SEXTANT llama --tp=2\ntrue\n" }, "llama --tp=2", from = "script" },
  ["several lines"] = { { script = "#!/bin/sh\n#SBATCH -N1\n\n#SEXTANT a\n#SEXTANT\tb\ntrue" }, "a b",
                        from = "script" },
  ["no line end"] = { { script = "#!/bin/sh\n#SEXTANT a" }, "a", from = "script" },
  ["line ends of Windows"] = { { script = "#!/bin/sh\r\n#SEXTANT a b\r\n\r\n#SEXTANT c\r\n" }, "a b c",
                               from = "script" },
  ["after a command"] = { { script = "#!/bin/sh\n#SEXTANT a\ntrue\n#SEXTANT b\n" }, "a",
                          note = "after the script's first command", from = "script" },
  ["only after a command"] = { { script = "#!/bin/sh\ntrue\n#SEXTANT b\n" },
                               note = "after the script's first command" },
  ["after a command that is indented"] = { { script = "#!/bin/sh\n  true\n#SEXTANT\tb\n" },
                                           note = "after the script's first command" },
  ["far down"] = { { script = string.rep("#\n", 131072) .. "#SEXTANT a\n" },
                 note = "after the script's first command" },
  ["not quite"] = { { script = string.rep("#\n", 131071) .. "#SEXTANT a b\ntrue" }, "a b",
                  from = "script" },
  ["another word"] = { { script = "#!/bin/sh\n#SEXTANTS a\n# SEXTANT a\n #SEXTANT a\n" } },
  ["an empty line of ours"] = { { script = "#!/bin/sh\n#SEXTANT \n#SEXTANT\n" } },
  ["environment"] = { { plan = "a" }, "a", from = "environment" },
  ["script before environment"] = { { script = "#SEXTANT s\n", plan = "e" }, "s", from = "script" },
  ["comment first"] = { { script = "#SEXTANT s\n", plan = "e", comment = "mine sextant: c d" }, "c d",
                        from = "comment" },
  ["a comment of the user's"] = { { plan = "e", comment = "mysextant: c" }, "e", from = "environment" },
  ["an empty place"] = { { script = "#SEXTANT  \n", plan = " ", comment = "sextant:  " } },
  ["4 KiB"] = { { plan = LONG:sub(2) }, LONG:sub(2), from = "environment" },
  ["more than 4 KiB"] = { { plan = LONG }, why = "4097 bytes, and 4096", from = "environment" },
  ["200 kB"] = { { script = "#SEXTANT " .. string.rep("x", 200000) .. "\n" }, why = "200000 bytes",
                 from = "script" },
} do
  local got, why, note, from = words.find(case[1])
  check.equal(name, got, case[2])
  check.has(name .. ": why", why, case.why)
  check.has(name .. ": note", note, case.note)
  check.equal(name .. ": from", from, case.from)
end

-- What a comment becomes, and the words that it then has.
for given, becomes in pairs {
  [""] = "sextant: a b", ["mine"] = "mine sextant: a b", ["sextant: old"] = "sextant: a b",
  ["mine sextant: old c"] = "mine sextant: a b",
} do
  check.equal("to_comment " .. given, words.to_comment(given, "a b"), becomes)
  check.equal("in_comment " .. given, words.in_comment(words.to_comment(given, "a b")), "a b")
end
check.equal("to_comment of none", words.to_comment(nil, "a"), "sextant: a")

check.equal("no mark", words.is_exclusive("mine sextant-exclusive"), false)
check.equal("no comment", words.is_exclusive(nil), false)
for _, comment in ipairs { "", "mine", "sextant: a" } do
  local marked = words.mark_exclusive(comment)
  check.equal("mark " .. comment, words.is_exclusive(marked), true)
  check.equal("marked once " .. comment, words.mark_exclusive(marked), marked)
  check.equal("words beside the mark " .. comment, words.in_comment(words.to_comment(marked, "w")), "w")
end
check.equal("words under the mark", words.in_comment(words.mark_exclusive("sextant: a")), "a")

-- Unicode, table 3-7: well-formed sequences, and those next to them that are none.
for text, becomes in pairs {
  ["plain"] = "plain", [""] = "", ["a\0b"] = "a\0b",
  ["\194\128\223\191"] = "\194\128\223\191", ["\192\175"] = "??", ["\193\191"] = "??",
  ["\224\160\128"] = "\224\160\128", ["\224\159\191"] = "???", ["\237\159\191"] = "\237\159\191",
  ["\237\160\128"] = "???", ["\240\144\128\128"] = "\240\144\128\128", ["\240\143\191\191"] = "????",
  ["\244\143\191\191"] = "\244\143\191\191", ["\244\144\128\128"] = "????", ["\245\128"] = "??",
  ["\255\254"] = "??", ["\128"] = "?", ["a\226\130"] = "a??", ["\226\130\172"] = "\226\130\172",
} do
  check.equal("utf8", words.utf8(text, 256), becomes)
end
check.equal("cut", words.utf8(string.rep("a", 300), 256), string.rep("a", 256))
check.equal("cut before a sequence", words.utf8(string.rep("a", 255) .. "\195\169", 256),
            string.rep("a", 255))
check.equal("printable", words.printable("a\27[31m\7\n\195\169~ "), "a?[31m????~ ")

check.ends()
