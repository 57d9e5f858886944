-- Where modules are looked for. None comes from the current folder, which is anybody's: Lua's own path
-- has "./?.lua". So whoever needs one first sets a path of ours alone, which is absolute,
--
--   local path, cpath = package.path, package.cpath
--   package.path, package.cpath = "/usr/share/sextant/slurm/?.lua", ""
--   require("sextant.path").add(path, cpath)
--
-- and gets back what is absolute of Lua's. Without that file it finds no other module.

local function absolute(path)
  local kept = {}
  for entry in path:gmatch("[^;]+") do
    if entry:sub(1, 1) == "/" then kept[#kept + 1] = entry end
  end
  return table.concat(kept, ";")
end

return {
  add = function(path, cpath)
    package.path = package.path .. ";" .. absolute(path)
    package.cpath = absolute(cpath)
  end,
}
