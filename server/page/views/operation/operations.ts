// The operations of the form, and their sizes as in the API: those that it asks for at first, or
// none. A size of true or false is a setting.

export interface Operation {
  name: string; // the API's field
  label: string;
  sizes: Record<string, string | boolean>;
}

const operation = (name: string, label: string, sizes: string): Operation => ({
  name,
  label,
  sizes: Object.fromEntries(
    sizes.split(" ").map((size) => {
      const [field, value] = size.split("=") as [string, string];
      return [field, value === "true" || (value !== "false" && value)];
    }),
  ),
});

export const OPERATIONS: Operation[] = [
  operation("matmul", "Matrix product", "m=8192 n=8192 k=8192"),
  operation("batchedMatmul", "Batched matrix product", "batch=64 m=1024 n=1024 k=128"),
  operation("linear", "Linear layer", "rows=8192 inputSize=4096 outputSize=14336 bias=false"),
  operation(
    "attention",
    "Attention",
    "batch=1 heads=32 kvHeads=8 queryLength=8192 headSize=128 window= causal=true unfused=false",
  ),
  operation(
    "experts",
    "Layer of experts",
    "tokens=8192 hiddenSize=4096 feedForwardSize=14336 expertCount=8 experts" +
      "PerToken=2 expertParallelSize=",
  ),
  operation("softmax", "Softmax", "rows=8192 columns=8192"),
  operation("rmsNorm", "RMSNorm", "rows=8192 columns=4096"),
  operation("layerNorm", "LayerNorm", "rows=8192 columns=4096"),
  operation("swiglu", "SwiGLU", "rows=8192 columns=14336"),
  operation("rotary", "Rotary embedding", "tokens=8192 heads=32 headSize=128"),
  operation("embedding", "Embedding", "tokens=8192 vocabulary=128256 width=4096"),
  operation("crossEntropy", "Cross entropy", "tokens=8192 vocabulary=128256"),
  operation("elementwise", "Function of elements", "count=33554432 inputCount=2"),
  operation("activation", "ReLU", "count=33554432"),
  operation("reduction", "Sum", "outer=8192 reduced=4096"),
  operation("dropout", "Dropout", "count=33554432"),
  operation("optimizerUpdate", "AdamW step", "parameters=8030261248 masterWeights=false"),
];
