/**
 * The start of the thread that signs for a worker (`thread-signer.ts`). It answers each group of texts with their signatures,
 * and keeps nothing: keys come with each group.
 */
import type { KeyObject } from 'node:crypto';
import { parentPort } from 'node:worker_threads';
import { signText } from './message-signature.ts';

/** Texts by the key that signs them. The answer has the signatures of all in this sequence. */
export type SigningGroup = { key: KeyObject; texts: string[] }[];

const main = parentPort;
if (main === null) throw new Error('this module is the start of a thread');

main.on('message', (group: SigningGroup) => {
  main.postMessage(group.flatMap(({ key, texts }) => texts.map((text) => signText(key, text))));
});
// The first message: from now on a group does not wait for the start.
main.postMessage([]);
