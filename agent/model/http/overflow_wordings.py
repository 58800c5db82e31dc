"""Wordings of servers for a request that exceeds the model's context window, and for the sizes in it."""

from __future__ import annotations

import re
from collections.abc import Mapping

from sandbox.lazy_pattern import compile_lazily

WORDINGS: Mapping[str, tuple[str, ...]] = {
    # platform.openai.com/docs/guides/error-codes; also DeepSeek, OpenRouter and other gateways
    "OpenAI": (r"context_length_exceeded", r"maximum context length", r"context window"),
    # docs.anthropic.com/en/api/errors; continuedev/continue#6080 for the second
    "Anthropic": (r"prompt is too long", r"exceeds? (?:the )?context limit", r"context_?window_?exceeded"),
    # lmstudio-ai/lmstudio-bug-tracker#546, #2205, #237; anomalyco/opencode#11141
    "LM Studio": (
        r"(?:greater|longer|larger) than the context length",
        r"context length of only",
        r"keep the first [0-9]+ tokens when context",
        r"n_keep.{0,20}>=\s*n_ctx",
        r"reached context length of",
    ),
    # ggml-org/llama.cpp: tools/server (exceed_context_size_error)
    "llama.cpp": (
        r"exceed_context_size",
        r"exceeds? (?:the |this |its )?(?:available |model'?s? )?context",
        r"context (?:size|length) (?:has been )?exceeded",
    ),
    # ollama/ollama: server and runner
    "Ollama": (r"input length exceeds", r"prompt too long", r"exceeded max context length"),
    # vllm-project/vllm: entrypoints and engine (VLLMValidationError of 2026, too: pull request 36197)
    "vLLM": (
        r"longer than the (?:maximum )?model(?:'s)? (?:maximum |context )?(?:length|window)",
        r"input tokens.{0,60}exceed",
    ),
    # vllm-project/vllm#10440, #765; langgenius/dify#32221 (Volcano Ark); others name the option itself
    "vLLM's scheduler, Ark": (
        r"prompt.{0,40}\bis too long",
        r"(?<!stop )\b(?:prompt|input|sequence|tokens)\b.{0,60}(?:exceeds?|longer than) (?:the )?(?:model'?s )?"
        r"max(?:imum)?[ _](?:input |sequence |model |seq_?|model_?)*(?:length|len|context)\b",
        r"context length is only",
    ),
    # github.com/marketplace/models; console.groq.com/docs/rate-limits: more than one minute may have
    "GitHub Models, Groq": (
        r"tokens_limit_reached",
        r"request (?:body )?too large for .{0,120}(?:tokens|TPM)",
    ),
    # baichuan-inc/Baichuan-13B#38 and gateways in China
    "in Chinese": (
        r"(?:输入|上下文|提示词?)(?:内容)?长度.{0,12}(?:超过|超出)",
        r"超(?:过|出).{0,12}(?:最大|上下文).{0,6}长度",
    ),
    # sgl-project/sglang; huggingface/text-generation-inference (router/src/validation.rs)
    "SGLang, TGI, Together": (
        r"longer than the model.?s (?:maximum )?context length",
        r"must (?:be <=|have less than) [0-9]+(?: tokens)?\.? ?.{0,10}given",
        r"maximum allowed (?:input )?length",
    ),
    # theroyallab/tabbyAPI, exllama
    "TabbyAPI": (r"greater than (?:the )?(?:max_seq_len|cache size|max(?:imum)? (?:sequence|context))",),
    # cloud.google.com/vertex-ai/generative-ai/docs, docs.aws.amazon.com/bedrock
    "Gemini, Bedrock": (
        r"input token count.{0,40}exceeds",
        r"input is too long",
        r"exceeds the maximum number of tokens",
    ),
    # docs.mistral.ai; docs.x.ai; console.groq.com/docs/errors; inference-docs.cerebras.ai
    "Mistral, xAI, Groq, Cerebras": (
        r"too large for model with",
        r"maximum prompt length",
        r"reduce (?:the )?(?:length|size) of (?:the |your )?(?:messages|prompt|input|message)",
    ),
    # platform.moonshot.ai, platform.minimaxi.com, docs.z.ai, help.aliyun.com (DashScope)
    "Kimi, MiniMax, GLM, Qwen": (
        r"exceeded model token limit",
        r"window exceeds limit",
        r"prompt exceeds max",
        r"range of input length",
    ),
    # github.com/orgs/community/discussions on Copilot; docs.cohere.com; docs.fireworks.ai
    "Copilot, Cohere, Fireworks": (
        r"model_max_prompt_tokens_exceeded",
        r"token count of [0-9]+ exceeds",
        r"too many (?:input |prompt )?tokens",
        r"exceed(?:s|ed)? (?:the )?(?:model'?s? )?(?:max(?:imum)?|limit).{0,40}tokens",
    ),
}
"""By server, with where the words come from. All are looked for everywhere: gateways pass on those of others."""

OVERFLOW = compile_lazily("|".join(each for words in WORDINGS.values() for each in words), re.I | re.DOTALL)

LIMIT = compile_lazily(
    r"(?:maximum (?:context|prompt|model) length (?:is|of)"
    r"|context (?:size|window|length)(?: of(?: only)?| is(?: only)?| \()?"
    r"|> |>= n_ctx|exceeds limit of |TPM\): limit |max size: "
    r"|max(?:imum)?[ _](?:input |seq_?|model_?)*len(?:gth)? (?:of )?"
    r"|limit of|token limit:|maximum of|n_ctx[=: ]+|must be <=|have less than|max_seq_len)"
    r"\s*\(?([0-9][0-9,_]{2,9})\b",
    re.IGNORECASE,
)
"""Wordings in which a refusal tells the window."""

SENT = compile_lazily(
    r"(?:resulted in|requested|you passed|prompt is|request \(|has|contains|input(?: length)? of|count of|input \()\s*"
    r"([0-9][0-9,_]*)\s*(?:input |prompt )?tokens|([0-9][0-9,_]*) tokens >",
    re.IGNORECASE,
)
"""Wordings in which a refusal tells the size of the request."""
