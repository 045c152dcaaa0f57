// The flags of each token.

export const PRETOKEN_START = 1;
export const INSIDE_CHARACTER = 2; // the token ends inside a character
export const ADDED = 4;
