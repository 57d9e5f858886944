"""Dense decoders by the columns of a table."""

import dataclasses

from cells import Row, Undescribed, required
from sextant_api import api

LAYER_KIND = "dense"


@dataclasses.dataclass
class DenseShape:
    """A dense decoder of one kind of layer. Without `gated` and `root_mean_square`: a GPT's."""

    layers: int
    hidden: int
    heads: int
    vocabulary: int
    feed_forward: int
    positions: int = 0  # rows of a learned table
    gated: bool = False
    root_mean_square: bool = False
    tied: bool = True
    attention_bias: bool = False
    feed_forward_bias: bool = False


def gpt_shape(row: Row) -> DenseShape:
    """Tied embeddings and a feed-forward of four times the hidden size."""
    layers = required(row, "layers", "number of layers")
    hidden = required(row, "hidden", "hidden size")
    heads = required(row, "heads", "number of heads")
    vocabulary = required(row, "vocab", "vocabulary")
    return DenseShape(layers, hidden, heads, vocabulary, 4 * hidden)


def dense_architecture(shape: DenseShape):
    if shape.heads < 1 or shape.hidden % shape.heads != 0:
        raise Undescribed("heads don't divide the hidden size")
    bias = shape.attention_bias
    norm = api.NORM_VARIANT_RMS_NORM if shape.root_mean_square else api.NORM_VARIANT_LAYER_NORM
    attention = {
        "head_count": shape.heads,
        "query_key_head_size": shape.hidden // shape.heads,
        "query_bias": bias,
        "key_bias": bias,
        "value_bias": bias,
        "output_bias": bias,
    }
    feed_forward = {
        "kind": api.FeedForward.KIND_GATED if shape.gated else api.FeedForward.KIND_PLAIN,
        "size": shape.feed_forward,
        "input_bias": shape.feed_forward_bias,
        "output_bias": shape.feed_forward_bias,
    }
    kind = {
        "name": LAYER_KIND,
        "norm": norm,
        "attention": attention,
        "feed_forward": feed_forward,
    }
    return api.Architecture(
        hidden_size=shape.hidden,
        layer_kinds=[kind],
        norm=norm,
        embedding={"vocabulary_size": shape.vocabulary},
        decoder={
            "layers": [{"layer_kind": LAYER_KIND, "count": shape.layers}],
            "learned_position_count": shape.positions,
        },
        output={"head": api.OUTPUT_HEAD_TIED if shape.tied else api.OUTPUT_HEAD_UNTIED},
    )
