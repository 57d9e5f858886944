-- sextant/gpus.lua: counts as Slurm 22.05 allocated them for these fields of job_desc, with eight
-- GPUs a node (tests/slurm/gpus_test.py has the flags); and what is not judged.

local check = dofile(arg[1] .. "/tests/slurm/lua/check.lua")
local gpus = require "sextant.gpus"

local SITE = { devices = {
  { gres = "h100", accelerator = "h100-sxm", node_type = "dgx-h100", gpus_per_node = 8 } } }

-- text; count, type, or part of why it is not understood.
for text, case in pairs {
  ["gres:gpu"] = { 1, "" }, ["gres:gpu:8"] = { 8, "" }, ["gres:gpu:h100"] = { 1, "h100" },
  ["gres:gpu:h100:4"] = { 4, "h100" }, ["gpu:2"] = { 2, "" }, ["gres/gpu:8"] = { 8, "" },
  ["gres/gpu=8"] = { 8, "" }, ["gres/gpu:h100=8"] = { 8, "h100" }, ["gres:gpu:0"] = { 0, "" },
  ["gres:gpu:02"] = { 2, "" }, ["gres:gpu:a100_3g.20gb:2"] = { 2, "a100_3g.20gb" },
  ["gres:gpu:4(S:0-1)"] = { 4, "" }, ["gres:shard:4"] = {}, [""] = {}, ["gres:gpus:4"] = {},
  ["gres:shard:1,gres:gpu:h100:3"] = { 3, "h100" },
  ["gres:gpu:1,gres:gpu:1"] = { why = "twice" }, ["gres:gpu:h100:1,gres:gpu:a100:2"] = { why = "twice" },
  ["gres:gpu:h100:8:9"] = { why = "not understood" }, ["gres:gpu:h100:x"] = { why = "not understood" },
  ["gres:gpu:99999999"] = { why = "not understood" }, ["gres:gpu:2k"] = { 1, "2k" },
} do
  local count, kind = gpus.parse(text)
  check.equal(text, count, case[1])
  if case.why then check.has(text, kind, case.why) else check.equal(text, kind, case[2]) end
end
check.equal("no list", gpus.parse(nil), nil)

local N2 = { min_nodes = 2, max_nodes = 2 }
local function with(fields, more)
  local all = {}
  for name, value in pairs(fields) do all[name] = value end
  for name, value in pairs(more or {}) do all[name] = value end
  return all
end

-- job; count, nodes.
for name, case in pairs {
  ["--gres=gpu"] = { { tres_per_node = "gres:gpu" }, 1, 1 },
  ["--gres=gpu:h100:8"] = { { tres_per_node = "gres:gpu:h100:8" }, 8, 1 },
  ["--gres=gpu:8 -N2"] = { with(N2, { tres_per_node = "gres:gpu:8" }), 16, 2 },
  ["-N2 in floats"] = { { tres_per_node = "gres:gpu:8", min_nodes = 2.0, max_nodes = 2.0 }, 16, 2 },
  ["--gres=gpu:4 -N2 -n4"] = { with(N2, { tres_per_node = "gres:gpu:4", num_tasks = 4 }), 8, 2 },
  ["--gres=gpu:8 -n1"] = { { tres_per_node = "gres:gpu:8", num_tasks = 1 }, 8, 1 },
  ["-w node[1-2]"] = { { tres_per_node = "gres:gpu:8", min_nodes = 2 }, 16, 2 },
  ["--gpus=16"] = { { tres_per_job = "gres:gpu:16" }, 16 },
  ["--gpus=h100:16 -N2"] = { with(N2, { tres_per_job = "gres:gpu:h100:16" }), 16, 2 },
  ["--gpus=8 --gpus-per-node=4"] = {
    with(N2, { tres_per_job = "gres:gpu:8", tres_per_node = "gres:gpu:4" }), 8, 2 },
  ["--gpus-per-task=2 -n4"] = { { tres_per_task = "gres:gpu:2", num_tasks = 4 }, 8 },
  ["--gpus-per-task=8 -n2 -N2"] = { with(N2, { tres_per_task = "gres:gpu:8", num_tasks = 2 }), 16, 2 },
  ["--ntasks-per-gpu=1 --gpus=8"] = { { tres_per_job = "gres:gpu:8", ntasks_per_gpu = 1, num_tasks = 8 },
                                      8 },
  ["--ntasks-per-gpu=2 -n8"] = { { ntasks_per_gpu = 2, num_tasks = 8 }, 4 },
  ["--exclusive"] = { { exclusive = true }, 8, 1 },
  ["--exclusive -N2"] = { with(N2, { exclusive = true }), 16, 2 },
  ["--exclusive --gres=gpu:4 -N2"] = { with(N2, { exclusive = true, tres_per_node = "gres:gpu:4" }), 16, 2 },
  ["--exclusive --gpus=4 -N1"] = { { exclusive = true, tres_per_job = "gres:gpu:4", min_nodes = 1,
                                     max_nodes = 1 }, 8, 1 },
} do
  local got, why = gpus.count(SITE, case[1])
  check.equal(name, why, nil)
  check.equal(name, got, { count = case[2], nodes = case[3], accelerator = "h100-sxm",
                           node_type = "dgx-h100" })
end

-- job; part of why it is not judged.
for name, case in pairs {
  ["no GPU"] = { {}, "asks for no GPU" },
  ["--gpus=0"] = { { tres_per_job = "gres:gpu:0" }, "asks for no GPU" },
  ["-n20"] = { { tres_per_node = "gres:gpu:8", num_tasks = 20 }, "give --nodes" },
  ["-N1-2"] = { { tres_per_node = "gres:gpu:8", min_nodes = 1, max_nodes = 2 }, "give --nodes" },
  ["-w node[1-2] -n3"] = { { tres_per_node = "gres:gpu:8", min_nodes = 2, num_tasks = 3 }, "give --nodes" },
  ["-n1 -w node[1-2]"] = { { tres_per_node = "gres:gpu:8", min_nodes = 2, num_tasks = 1 }, "give --nodes" },
  ["tasks not known"] = { { tres_per_node = "gres:gpu:8", num_tasks = false }, "give --nodes" },
  ["tasks of GPUs not known"] = { { tres_per_task = "gres:gpu:8", num_tasks = false }, "give --gpus" },
  ["--gpus-per-task alone"] = { { tres_per_task = "gres:gpu:8" }, "give --gpus" },
  ["--gpus-per-socket"] = { { tres_per_socket = "gres:gpu:2" }, "give --gpus-per-node" },
  ["--ntasks-per-gpu=3 -n8"] = { { ntasks_per_gpu = 3, num_tasks = 8 }, "no multiple" },
  ["--gpus=8, 6 by nodes"] = { with(N2, { tres_per_job = "gres:gpu:8", tres_per_node = "gres:gpu:3" }),
                               "--gpus gives 8 GPUs and GPUs of each node gives 6" },
  ["by tasks, by nodes"] = { with(N2, { tres_per_task = "gres:gpu:1", tres_per_node = "gres:gpu:2",
                                        num_tasks = 2 }), "GPUs of each node gives 4 GPUs" },
  ["two types"] = { { tres_per_job = "gres:gpu:h100:8", tres_per_node = "gres:gpu:a100:8" },
                    "two types of GPU, h100 and a100" },
  ["unknown type"] = { { tres_per_node = "gres:gpu:b999:8" }, "GPU type b999" },
  ["named twice"] = { { tres_per_node = "gres:gpu:1,gres:gpu:1" }, "twice" },
  ["--exclusive --gpus=16"] = { { exclusive = true, tres_per_job = "gres:gpu:16" }, "give --nodes" },
  ["--exclusive -n20"] = { { exclusive = true, num_tasks = 20 }, "give --nodes" },
  ["whole in some partitions"] = { { exclusive = "some", tres_per_node = "gres:gpu:8" }, "give one" },
} do
  local got, why = gpus.count(SITE, case[1])
  check.equal(name, got, nil)
  check.has(name, why, case[2])
end

-- Which row of the site's file: devices, partition, type; accelerator or part of why none.
local H100 = { gres = "h100", accelerator = "h100-sxm" }
local A100 = { gres = "a100", accelerator = "a100-sxm-80gb" }
local OLD = { gres = "h100", partition = "old", accelerator = "h100-pcie" }
local UNTYPED = { partition = "old", accelerator = "v100-sxm2" }
for name, case in pairs {
  ["any partition"] = { { H100 }, nil, ":h100", "h100-sxm" },
  ["a type among others"] = { { H100, A100 }, "p", ":a100", "a100-sxm-80gb" },
  ["one product and no type"] = { { H100 }, "p", "", "h100-sxm" },
  ["two products and no type"] = { { H100, A100 }, "p", "", why = "h100-sxm or a100-sxm-80gb" },
  ["another partition's"] = { { OLD }, "p", ":h100", why = "type h100 in partition p" },
  ["another partition's, no type"] = { { OLD }, "p", "", why = "without a type in partition p" },
  ["the partition's"] = { { OLD }, "old", ":h100", "h100-pcie" },
  ["the same name twice"] = { { OLD, H100 }, "old", ":h100", why = "h100-pcie or h100-sxm" },
  ["two partitions alike"] = { { H100 }, "p,q", ":h100", "h100-sxm" },
  ["one partition without"] = { { OLD }, "old,p", ":h100", why = "in partition p" },
  ["a row without a type"] = { { UNTYPED }, "old", "", "v100-sxm2" },
  ["a type that the row lacks"] = { { UNTYPED }, "old", ":h100", why = "GPU type h100" },
  ["no rows"] = { {}, nil, "", why = "in partition (default)" },
} do
  local got, why = gpus.count({ devices = case[1] },
                              { partition = case[2], tres_per_node = "gres:gpu" .. case[3] .. ":8" })
  check.equal("row: " .. name, got and got.accelerator, case[4])
  check.has("row: " .. name, why, case.why)
end
local _, why = gpus.count({ devices = { H100 } }, { exclusive = true, partition = "p" })
check.has("whole nodes of an unknown size", why, "no gpus_per_node for h100-sxm")

check.ends()
