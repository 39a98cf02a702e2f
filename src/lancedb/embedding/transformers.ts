/** Embeds texts by models of the Transformers library. */

export {};
