/** The port through which the gateway reads documents of other servers, such as their public keys. */

type DocumentBounds = { bytesMax: number; timeoutMs: number };

/**
 * Resolves with the text of a document that was answered with 200. Rejects with an Error whose message names the reason: an address
 * that is not allowed, another status (redirects are not followed), too long a document, no answer in time.
 */
export type FetchDocument = (url: string, bounds: DocumentBounds) => Promise<string>;

export const noDocuments: FetchDocument = () => Promise.reject(new Error('this gateway reads no documents'));
