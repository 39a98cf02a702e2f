// Packages that a program may install for embedding functions. Their types are its own.
declare module "openai";
declare module "@huggingface/transformers";
