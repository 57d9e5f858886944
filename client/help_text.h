// Worked examples for --help, all under 100 columns.
#ifndef SEXTANT_CLIENT_HELP_TEXT_H_
#define SEXTANT_CLIENT_HELP_TEXT_H_

namespace sextant {

inline constexpr char kProgramHelp[] =
    "Examples:\n"
    "  sextant plan llama-3.1-70b --tokens=15T --accelerator=h100-sxm --devices=1024\n"
    "  sextant memory llama-3.1-8b --tp=8 --sequence-length=8192 --accelerator=h100-sxm\n"
    "  sextant count llama-3.1-70b --sequence=8192 --conventions\n"
    "  sextant accelerators h100-sxm\n"
    "  sextant probe\n"
    "  sextant plan gpt2 --tokens=10B --device=host --devices=1\n"
    "  sextant op matmul 16384x32768x8192 --dtype=bf16 --device=h100-sxm --plot\n"
    "  sextant tensor 4x128x512 --dtype=bf16 \"view 4 128 8 64\" \"transpose 1 2\" contiguous\n"
    "  sextant plan --help\n";

inline constexpr char kPlanHelp[] =
    "Numbers: counts take K M B T (powers of 1000) or an exponent: 70B = 70e9. Sizes take B, KB\n"
    "to PB (powers of 1000) and KiB to PiB (powers of 1024). Ranges are the server's to check.\n"
    "A TIME takes s, m (minutes), h or d. Flags beside --request override its fields; a model "
    "flag\n"
    "replaces its whole model, and one that names devices all its devices.\n"
    "--flops-convention takes six-n-total, six-n-non-embedding, kaplan-2020, chinchilla-2022,\n"
    "palm-2022, megatron-2021-hardware, megatron-2021-model, megatron-causal, exact-full,\n"
    "exact-causal or exact-causal-diagonal; sextant count --conventions compares them.\n"
    "--schedule takes 1f1b (one-forward-one-backward), gpipe, zb-h1, zb-h2 (zero-bubble-) or\n"
    "dualpipe.\n"
    "\n"
    "Examples:\n"
    "  Does it fit, and for how long does it run?\n"
    "    sextant plan llama-3.1-70b --tokens=15T --accelerator=h100-sxm --devices=1024\n"
    "  A bare parameter count, with money, as JSON for a program:\n"
    "    sextant --output=json plan --parameters=8B --tokens=2e12 --accelerator=a100-sxm-80 \\\n"
    "        --devices=64 --device-hour-price-usd=1.80\n"
    "  Another optimizer, and every number derived:\n"
    "    sextant plan llama-3.1-8b --tokens=1T --accelerator=h100-sxm --devices=8 \\\n"
    "        --optimizer=adam-8bit --derivation\n"
    "  On this server's processor, at the rates that sextant probe measured, or not at all:\n"
    "    sextant plan gpt2 --tokens=10B --device=host --devices=1 "
    "--minimum-source=measured-device\n"
    "  At the rates of another host, and for a model as its config.json describes it:\n"
    "    sextant plan --config=config.json --tokens=10B --calibration=node7.json --devices=64\n"
    "  With adapters, of which alone there are gradients and optimizer state:\n"
    "    sextant plan llama-3.1-8b --lora-rank=16 --freeze-base --tokens=1B \\\n"
    "        --sequence-length=4096 --accelerator=a10 --devices=1\n"
    "  A request from a file, on more devices:\n"
    "    sextant plan --request=run.json --devices=2048\n"
    "  In a job script: refuse on 1 and 3; whatever else goes wrong, launch unplanned:\n"
    "    sextant plan --request=run.json || { c=$?; [ $c = 1 ] || [ $c = 3 ] && exit $c; }\n";

inline constexpr char kMemoryHelp[] =
    "What each GPU of each pipeline stage holds when that stage holds the most: model state,\n"
    "activations, transients, buffers and an estimated reserve, which has a low and a high end.\n"
    "FITS: even at the high end; TIGHT: between; DOES NOT FIT: not even at the low end.\n"
    "Without --devices there are as many as the layout's sizes need. Numbers, files and --request\n"
    "are read as sextant plan reads them; flags of data types, --schedule and --optimizer take\n"
    "the names that sextant plan --help shows, --schedule 1f1b, zb-h1 and zb-h2 too.\n"
    "\n"
    "Examples:\n"
    "  Does it fit, and what takes the memory?\n"
    "    sextant memory llama-3.1-70b --tp=8 --pp=4 --devices=64 --zero=optimizer \\\n"
    "        --sequence-length=8192 --accelerator=h100-sxm\n"
    "  Every tensor of it, and a picture:\n"
    "    sextant memory llama-3.1-8b --tp=8 --sequence-length=8192 --accelerator=h100-sxm \\\n"
    "        --ledger --svg=memory.svg\n"
    "  A mixture of experts, all layers computed again:\n"
    "    sextant memory mixtral-8x7b --pp=4 --ep=8 --zero=1 --gbs=256 --recompute=full \\\n"
    "        --sequence-length=4096 --devices=32 --accelerator=a100-sxm-80\n"
    "  Adapters beside a base in 4 bits:\n"
    "    sextant memory llama-3.1-8b --lora-rank=16 --freeze-base --frozen-data-type=fp4 \\\n"
    "        --sequence-length=2048 --framework=pytorch-fsdp --accelerator=a10\n"
    "  A rule of thumb, shared out evenly: 16 bytes a parameter, and activations\n"
    "    sextant memory --parameters=7e9 --activation-bytes=8GiB --accelerator=h100-sxm \\\n"
    "        --devices=2\n";

inline constexpr char kCountHelp[] =
    "MODEL is a file if there is one of that name, or if it ends in .json or has a / in it. Sizes\n"
    "take K M B T (powers of 1000): 8K is 8000. A multiply-add counts as two FLOPs. Components,\n"
    "and matrices for --lora-targets, have the names that the answer shows (--tensors), blanks\n"
    "written as _. Programs get all of it: --output=json.\n"
    "\n"
    "Examples:\n"
    "  How many parameters, and where are they?\n"
    "    sextant count llama-3.1-70b\n"
    "  And how many FLOPs a token, by this and by all other ways to count?\n"
    "    sextant count llama-3.1-70b --sequence=8192 --conventions\n"
    "  A batch of sequences that are not equally long, all layers computed again:\n"
    "    sextant count gpt2 --sequence=12x1024 --sequence=4x512 --recompute=full\n"
    "  What does each GPU hold?\n"
    "    sextant count llama-3.1-70b --tp=8 --pp=4 --vocabulary-multiple=1024\n"
    "  What do adapters add, and what is trained then?\n"
    "    sextant count llama-3.1-8b --lora-rank=16 --freeze-base --tensors\n"
    "  A model as its config.json describes it:\n"
    "    sextant count config.json\n";

inline constexpr char kAcceleratorsHelp[] =
    "Examples:\n"
    "  sextant accelerators                    the catalogue as a table\n"
    "  sextant accelerators h100-sxm           one, each figure with its source\n"
    "  sextant accelerators --sources          all, each figure with its source\n"
    "  sextant --output=json accelerators      for a program\n";

inline constexpr char kDevicesHelp[] =
    "Each device, when it was measured last, and the fingerprint of what was measured.\n"
    "\n"
    "Examples:\n"
    "  sextant devices\n"
    "  sextant --output=json devices           for a program\n";

inline constexpr char kCalibrationHelp[] =
    "Times are medians; spread is 1.4826 x the median absolute deviation over the median; n "
    "counts\n"
    "samples. What is marked unstable had samples that disagree.\n"
    "\n"
    "Examples:\n"
    "  sextant calibration                     of the only GPU, or the only device\n"
    "  sextant calibration host                of the server's processor\n"
    "  sextant calibration --mode=quick        the last quick one, in use or not\n"
    "  sextant calibration --save=node7.json   to plan with: sextant plan "
    "--calibration=node7.json\n"
    "  sextant --output=json calibration       for a program\n";

inline constexpr char kProbeHelp[] =
    "Without --device it measures the server's GPUs, or its processor (host) where it has none.\n"
    "Takes about 2 s (quick), 5 s (standard) or 30 s (full) a device, which is busy meanwhile.\n"
    "Plans use the result from then on; with --matmul it is only shown. Ctrl-C stops the probe.\n"
    "Waits 60 s a device (full: 120), 300 s more with --matmul, unless --timeout says otherwise;\n"
    "without --device as for eight.\n"
    "With --output=json each device's result is an object of its own.\n"
    "\n"
    "Examples:\n"
    "  sextant probe\n"
    "  sextant probe --mode=full --device=host\n"
    "  How long does this multiplication take, and how near to the peak is it?\n"
    "    sextant probe --matmul=4096x4096x4096 --matmul=1024x1024x1024:int8 --dtype=fp32\n";

inline constexpr char kDataTypeHelp[] =
    "Examples:\n"
    "  sextant dtype                           all formats: layout, range, storage\n"
    "  sextant dtype bf16\n"
    "  Does 1e-8 survive in fp16?\n"
    "    sextant dtype fp16 --value=1e-8\n"
    "  What becomes of 7.9 beside 100 in a block of nvfp4?\n"
    "    sextant dtype nvfp4 --value=7.9 --block-maximum=100\n";

inline constexpr char kOperationHelp[] =
    "Each kind has a --help of its own: sextant op attention --help. Sizes take K M B T (powers "
    "of\n"
    "1000): 8K is 8000. FLOPs count a multiply-add as two; every array moves once a kernel.\n"
    "\n"
    "Examples:\n"
    "  What does this product cost, and what bounds it?\n"
    "    sextant op matmul 16384x32768x8192 --dtype=bf16 --device=h100-sxm\n"
    "  The roofline, here and as a picture:\n"
    "    sextant op softmax 8192x4096 --dtype=bf16 --device=h100-sxm --plot --svg=softmax.svg\n"
    "  Fused attention beside its separate kernels:\n"
    "    sextant op attention 1x32x8192x128 --kv-heads=8 --causal --dtype=bf16 --device=h100-sxm\n"
    "  It took 9.5 ms: is that good?\n"
    "    sextant op matmul 16384x32768x8192 --dtype=bf16 --device=h100-sxm --achieved=9.5ms\n"
    "  By names of axes:\n"
    "    sextant op einsum \"b s h, b t h -> b s t\" 2x3x4 2x3x4 --dtype=fp32\n"
    "  Rates of your own:\n"
    "    sextant op linear 8192x4096x14336 --dtype=bf16 --matrix-flops=400e12 \\\n"
    "        --memory-bandwidth=2e12\n";

inline constexpr char kGraphHelp[] =
    "FILE is a Graph in proto JSON (docs/graphs.md); - is stdin. Tensors from outside have "
    "shapes;\n"
    "operations name their inputs, and sizes that they leave out follow from those. Flags go\n"
    "before what the file says.\n"
    "\n"
    "Examples:\n"
    "  What does a training step cost, and what does it keep?\n"
    "    sextant graph docs/examples/block.json\n"
    "  And with the block computed again?\n"
    "    sextant graph docs/examples/block.json --checkpoint=block\n"
    "  A model written down on the spot:\n"
    "    sextant graph - <<'END'\n"
    "    {\"data_type\": \"DATA_TYPE_BF16\",\n"
    "     \"tensors\": [{\"name\": \"x\", \"shape\": [32, 1024]},\n"
    "                 {\"name\": \"w\", \"shape\": [1024, 4096], \"parameter\": true}],\n"
    "     \"operations\": [{\"name\": \"y\", \"operation\": {\"linear\": {}},\n"
    "                     \"inputs\": [\"x\", \"w\"]}]}\n"
    "    END\n";

inline constexpr char kRatesHelp[] =
    "A product's rates are this server's own measurements of such devices, else published\n"
    "measurements, else its datasheet; of several devices the slowest counts at each size.\n"
    "\n"
    "Examples:\n"
    "  sextant rates h200-sxm --svg=h200.svg\n"
    "  sextant rates b200-sxm --dtype=bf16 --dtype=nvfp4\n"
    "  sextant rates host\n";

inline constexpr char kNodesHelp[] =
    "Rates are those of one device in one direction. A node's link joins its devices; host is to\n"
    "the host's memory; networks join nodes, one port a device.\n"
    "\n"
    "Examples:\n"
    "  sextant nodes                           kinds of servers and networks as tables\n"
    "  sextant nodes dgx-h100                  one, each figure with its source\n"
    "  sextant nodes --sources                 all, each figure with its source\n"
    "  sextant --output=json nodes             for a program\n";

inline constexpr char kLinksHelp[] =
    "Times within a node are measured ones where there are any: your own (--calibration), else\n"
    "published; across nodes they follow from the network's rate. algbw is size over time, busbw\n"
    "that times the share of the bytes that leave or reach a rank, as nccl-tests has them.\n"
    "low to high holds four calls in five (docs/links.md).\n"
    "\n"
    "Examples:\n"
    "  Gradients of 8 GPUs, inside their node:\n"
    "    sextant links dgx-h100 --operation=all-reduce\n"
    "  And among four nodes, with a picture:\n"
    "    sextant links hgx-h100 --node-count=4 --network=ib-ndr --operation=all-reduce \\\n"
    "        --svg=links.svg\n"
    "  One size, by four of a node's devices, and copies from their hosts:\n"
    "    sextant links dgx-b200 --ranks-per-node=4 --size=64MiB --host-copies\n"
    "  A network of your own, and 2 GPUs of each node:\n"
    "    sextant links pcie-gen5 --node-count=2 --ranks-per-node=2 \\\n"
    "        --network-bytes-per-second=3.125e9 --operation=reduce-scatter --size=256MiB\n"
    "  With collectives of your own:\n"
    "    sextant links hgx-h200 --calibration=node7.json\n";

inline constexpr char kTensorHelp[] =
    "Each STEP is one argument, in quotes; it works on the result of the one before. Names and\n"
    "behaviour are PyTorch's. Axes and indices may be negative: they count from the end.\n"
    "  select AXIS INDEX          one index of an axis, which goes\n"
    "  slice AXIS START:STOP:STEP a range, as Python has it: \"slice 1 0:10:2\", \"slice 0 :8\"\n"
    "  transpose [AXIS AXIS]      two axes change places; default: 0 1\n"
    "  permute AXIS...            all axes in another order\n"
    "  view SIZE...               another shape of the same storage; -1 is what remains\n"
    "  reshape SIZE...            the same, as a copy where there is no view\n"
    "  expand SIZE...             repeats axes of size 1; -1 keeps a size\n"
    "  squeeze [AXIS]             axes of size 1 go; default: all\n"
    "  unsqueeze [AXIS]           an axis of size 1 comes; default: 0\n"
    "  flatten [FIRST LAST]       axes become one; default: 0 -1\n"
    "  contiguous                 row-major order\n"
    "  cast TYPE                  another number format\n"
    "  elementwise NAME [SHAPE]   add, relu, softmax, ...; SHAPE is the other operand's\n"
    "  rearrange EXPRESSION[, AXIS=SIZE...]   \"rearrange b s (h d) -> b h s d, h=8\"\n"
    "  repeat EXPRESSION[, AXIS=SIZE...]      \"repeat b d -> b r d, r=4\"\n"
    "  reduce EXPRESSION[, AXIS=SIZE...][, sum|mean|max|min|product]   \"reduce b s d -> b d, "
    "mean\"\n"
    "  check EXPRESSION           whether the shape is this: \"check batch seq hidden\"\n"
    "  index INDEX...             where in the storage an element is: \"index 1 2\"\n"
    "\n"
    "Examples:\n"
    "  Which steps copy?\n"
    "    sextant tensor 4x128x512 --dtype=bf16 \"view 4 128 8 64\" \"transpose 1 2\" contiguous\n"
    "  Does this view exist, and if not, why?\n"
    "    sextant tensor 4x8 --dtype=fp32 \"transpose 0 1\" \"view 32\"\n"
    "  By names of axes:\n"
    "    sextant tensor 4x128x512 --dtype=bf16 \"rearrange b s (h d) -> b h s d, h=8\" \\\n"
    "        \"check batch heads seq 64\"\n";

inline constexpr char kTokensHelp[] =
    "An id takes 2 bytes up to a vocabulary of 65,536, else 4; in memory often 8 (int64).\n"
    "\n"
    "Examples:\n"
    "  How large is the file?\n"
    "    sextant tokens 15T --vocabulary=128256\n"
    "  And how fast must it be read?\n"
    "    sextant tokens 2.8T --bytes-per-id=2 --tokens-per-second=9e6\n";

inline constexpr char kVersionHelp[] =
    "Succeeds without a server too, and says so.\n"
    "\n"
    "Examples:\n"
    "  sextant version\n"
    "  sextant version --address=unix:/run/sextant/sextantd.sock\n";

inline constexpr char kCompletionHelp[] =
    "Examples:\n"
    "  source <(sextant completion bash)       in ~/.bashrc\n"
    "  source <(sextant completion zsh)        in ~/.zshrc, after compinit\n";

inline constexpr char kGlobalFlagsHelp[] =
    "Before or after the command: --address, --timeout, --output (see sextant --help).";

}  // namespace sextant

#endif  // SEXTANT_CLIENT_HELP_TEXT_H_
