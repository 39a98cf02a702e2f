/** Embeds texts by the API of OpenAI. */

export {};
