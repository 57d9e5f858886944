-- Settings of Sextant's hooks in Slurm: /etc/sextant/slurm.lua. It is read at each call, so that an
-- edit holds at once. A name or value that is wrong switches the hooks off, and slurmctld's log
-- says which.

-- "off": nothing is asked. "observe": asks, logs, and tells users what they would have been told;
-- no job is refused. "refuse": a job that does not fit, or whose request is wrong, is refused.
mode = "observe"

-- The planner's HTTP address: "IP:PORT", "[IPv6]:PORT" or "unix:/PATH". No name, as a name would be
-- looked up while the controller waits.
address = "127.0.0.1:9464"

-- The most milliseconds a job may wait for an answer, and the seconds for which nobody asks after a
-- planner that did not answer.
deadline_ms = 300
breaker_s = 30

-- The most seconds for which cli_filter.lua and sextant-sbatch look for a layout, where a job's
-- words give none; 0: they don't. The controller never does for longer than the deadline.
search_s = 3

-- Which product a job gets: its GRES type and partition (without one: any), the product
-- (docs/accelerators.md), its node type (docs/links.md), and the GPUs of a node, which only jobs
-- need that get whole nodes (--exclusive). List each product of a partition: a job that names no
-- type is judged where its partition has one.
devices = {
  -- { gres = "h100", partition = "train", accelerator = "h100-sxm", node_type = "dgx-h100",
  --   gpus_per_node = 8 },
}

-- Whom nothing is asked about: users by name or number, partitions by name.
exempt_users = {}
exempt_partitions = {}

-- Whether the verdict is added to AdminComment, after what stands there.
admin_comment = false
