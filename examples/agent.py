"""An agent with a memory, in twenty lines: pip install 'recallite[builtin,openai]', then python examples/agent.py QUESTION"""

import json
import os
import sys

from openai import OpenAI

from recallite import MemorySearch, MemoryTools

with MemorySearch() as memory:
    model, tools = OpenAI(), MemoryTools(memory)
    messages = [{"role": "system", "content": tools.instructions()}, {"role": "user", "content": " ".join(sys.argv[1:])}]
    while True:
        name = os.environ.get("MODEL", "gpt-5-mini")
        answer = model.chat.completions.create(model=name, messages=messages, tools=tools.schemas("openai")).choices[0].message
        messages.append(answer)
        for call in answer.tool_calls or []:
            result = json.dumps(tools.call(call.function.name, call.function.arguments), ensure_ascii=False)
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
        if not answer.tool_calls:
            sys.exit(print(answer.content))
