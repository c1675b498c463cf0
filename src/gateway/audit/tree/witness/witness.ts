/**
 * Has a witness sign the checkpoints (C2SP tlog-witness): it gets a checkpoint with a proof that it continues the last one that
 * it signed. A witness that refuses shows that the audit was set back or replaced. One gateway submits at a time.
 */
import type { Kysely } from 'kysely';
import { Fault } from '#src/contract/fault.ts';
import type { Logger } from '#src/platform/log.ts';
import { pause, type Service } from '#src/platform/supervisor.ts';
import { releaseLease, takeLease } from '../../sinks/sink-store.ts';
import type { TreeDeps } from '../checkpoint-keys.ts';
import { consistencyBody, signTree } from '../prove.ts';
import { type CheckpointKey, openCheckpointKey } from '../signed-note.ts';
import { treeSize } from '../tree-store.ts';
import { findCosignature, readWitnessKey, type WitnessKey } from './cosignature.ts';
import { readCosigned, saveCosigned } from './witness-store.ts';

export type WitnessDeps = {
  db: Kysely<unknown>;
  log: Logger;
  /** The key that signs now. */
  key: () => CheckpointKey;
  /** Submission prefix of the witness. */
  url: string;
  witness: WitnessKey;
  holder: string;
  /** Gets the newest checkpoint with a cosignature that verifies. */
  onCosigned: (checkpoint: string) => void;
};

const lookEveryMs = 2_000;
const leaseSeconds = 30;
const attemptMs = 10_000;
const retryMsMax = 60_000;
const answerCharsMax = 8_192;
const [ok, conflict] = [200, 409];

/** Name of the lease. */
const sink = 'witness';

export const createWitness = (deps: WitnessDeps): Service => ({
  name: 'audit-witness',
  run: async (signal) => {
    const { db, log, holder } = deps;
    let waitMs = lookEveryMs;
    try {
      while (!signal.aborted) {
        try {
          const isHolder = await takeLease(db, sink, holder, leaseSeconds);
          await showCosigned(deps);
          if (isHolder) await submit(deps, signal);
          waitMs = lookEveryMs;
        } catch (err) {
          if (signal.aborted) return;
          waitMs = Math.min(retryMsMax, waitMs * 2);
          log.warn({ err, retryMs: waitMs }, 'the witness of the audit signed no checkpoint; trying again');
        }
        await pause(waitMs, signal);
      }
    } finally {
      await releaseLease(db, sink, holder);
    }
  },
});

type Shown = {
  /** How many events the checkpoint covers; 0: there is none for this audit. */
  size: number;
  /** A stored text that is not what a gateway wrote. */
  broken: string | undefined;
};

/**
 * The stored text is verified again, because a writer of the table could have replaced it, also by a checkpoint of another log
 * of this witness.
 */
const showCosigned = async ({ db, key, witness, onCosigned }: WitnessDeps): Promise<Shown> => {
  const stored = await readCosigned(db, witness.vkey);
  if (stored === undefined) return { size: 0, broken: undefined };
  const { checkpoint } = stored;
  if (!isCosigned(witness, key(), checkpoint)) return { size: 0, broken: checkpoint };
  onCosigned(checkpoint);
  const size = sizeOf(checkpoint);
  // The column is not signed.
  return { size, broken: stored.size === size ? undefined : checkpoint };
};

const sizeOf = (checkpoint: string): number => Number(checkpoint.split('\n')[1]);

/** The newest checkpoint that the witness signed, and the key that signs now. Fault NOT_FOUND when there is none. */
export const witnessedCheckpoint = async (deps: TreeDeps, vkey = ''): Promise<{ checkpoint: string; vkey: string }> => {
  const witness = readWitnessKey(vkey);
  const stored = witness === undefined ? undefined : await readCosigned(deps.db, vkey);
  const key = openCheckpointKey(deps.box, deps.checkpointKey);
  if (witness === undefined || stored === undefined || !isCosigned(witness, key, stored.checkpoint))
    throw new Fault('NOT_FOUND', 'No witness has signed a checkpoint: see ORDERPASS_AUDIT_WITNESS_URL');
  return { checkpoint: stored.checkpoint, vkey: key.vkey };
};

/**
 * A checkpoint of this audit with a signature of the witness that verifies. The signature of the audit itself is not asked for:
 * its key may have been replaced since, and a witness signs only what a key of the log signed.
 */
const isCosigned = (witness: WitnessKey, { origin }: CheckpointKey, checkpoint: string): boolean =>
  checkpoint.startsWith(`${origin}\n`) && findCosignature(witness, checkpoint, checkpoint) !== undefined;

const setBack = (old: number, size: number): Error =>
  new Error(`the witness knows ${old} events, and the audit has ${size}: it was set back`);

const submit = async (deps: WitnessDeps, signal: AbortSignal): Promise<void> => {
  const { db, key, witness } = deps;
  const checkpoint = await signTree(db, key());
  const size = sizeOf(checkpoint);
  const shown = await showCosigned(deps);
  let old = shown.size;
  // Another gateway may have submitted more events since this checkpoint was signed, so the tree is asked again.
  if (size < old && (await treeSize(db)) < old) throw setBack(old, size);
  if (size < old || (size === old && shown.broken === undefined)) return;
  let answer = await post(deps, await consistencyBody(db, old, { size, checkpoint }), signal);
  if (answer.status === conflict) {
    // The witness signed a checkpoint whose cosignature was lost, or the store was set back.
    old = sizeIn(answer.text);
    if (old > size) throw setBack(old, size);
    answer = await post(deps, await consistencyBody(db, old, { size, checkpoint }), signal);
  }
  if (answer.status !== ok) throw new Error(`the witness answered ${answer.status}`);
  const cosignature = findCosignature(witness, checkpoint, answer.text);
  if (cosignature === undefined) throw new Error('the answer of the witness has no signature by its key');
  await saveCosigned(db, witness.vkey, { size, checkpoint: `${checkpoint}${cosignature}`, broken: shown.broken });
  await showCosigned(deps);
};

const sizeIn = (text: string): number => {
  const [size] = /^(0|[1-9]\d{0,14})\n$/.exec(text)?.slice(1) ?? [];
  if (size === undefined) throw new Error('the witness answered 409 without the size that it knows');
  return Number(size);
};

const post = async ({ url }: WitnessDeps, body: string, signal: AbortSignal) => {
  const answer = await fetch(`${url.replace(/\/$/, '')}/add-checkpoint`, {
    method: 'POST',
    body,
    headers: { 'content-type': 'text/plain; charset=utf-8' },
    redirect: 'manual',
    signal: AbortSignal.any([signal, AbortSignal.timeout(attemptMs)]),
  });
  let text = '';
  const decoder = new TextDecoder();
  for await (const chunk of answer.body ?? []) {
    text += decoder.decode(chunk as Uint8Array, { stream: true });
    if (text.length > answerCharsMax) throw new Error('the answer of the witness is too long');
  }
  return { status: answer.status, text };
};
