/**
 * Text that a user pasted and that holds a credential, which no page shows again. An id has no second part; a value of a key or
 * secret has one of 49 characters, an access token begins as a JSON object does.
 */
export const holdsSecret = (text: string): boolean =>
  /op[ks]_(?:test_)?\w{12}_\w|(?<![\w-])eyJ[\w-]{5,}\.|whsec_/.test(text);
