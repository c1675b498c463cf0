/** Lists and texts of webhooks that commands offer as choices. They load nothing else of them. */
export { certificateEnds } from '../auth/endpoint-auth.ts';
export { type SignatureScheme, signatureSchemes } from '../signing/message-signature.ts';
