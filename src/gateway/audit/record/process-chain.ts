/**
 * The chain that one process writes alone. Events and the signature of the end that they make are one statement, and it
 * takes hold only while the head is the one that this process signed last: so nothing of a chain is ever unsigned, a head
 * that somebody else put in its place is noticed at the next write, and the chain is not continued then but a new one is.
 */
import type { Kysely } from 'kysely';
import type { Clock } from '#src/platform/clock.ts';
import { inTransaction, isUniqueViolation } from '#src/platform/db/transaction.ts';
import type { Logger } from '#src/platform/log.ts';
import type { SecretBox } from '#src/platform/secret-box.ts';
import { vouchFor } from '../chain/attest-heads.ts';
import { appendToChain, headLabel, signHead } from '../chain/chain.ts';
import { findChain, replaceHead } from '../chain/chain-store.ts';
import { checkSignatures } from '../chain/check-chain.ts';
import { type ChainRow, ensurePartition, insertSigned, lockChains } from '../chain/event-store.ts';
import { openWitness } from '../chain/external-heads.ts';
import { openChain } from '../chain/open-chain.ts';
import { type AuditProblem, auditProblems } from '../chain/problem.ts';
import { recordBroken } from '../chain/record-problem.ts';
import type { AuditEvent } from '../event/event.ts';

export type OwnChain = {
  /** All or nothing, once. To be called again with the same events when it rejects, and for one batch at a time. */
  append(events: readonly (AuditEvent & { ids_indexed?: boolean })[]): Promise<void>;
  /** Signs the head as it stands, so that others see that this process lives and what it knows of them. */
  sign(closed: boolean): Promise<void>;
};

export type OwnChainDeps = {
  db: Kysely<unknown>;
  box: Pick<SecretBox, 'derive'>;
  clock: Clock;
  log: Logger;
  process: string;
};

export const openOwnChain = async (deps: OwnChainDeps): Promise<OwnChain> => {
  const { db, box, clock, log } = deps;
  const witness = openWitness(box);
  const key = box.derive(headLabel);
  const open = (problem: AuditProblem | undefined): Promise<ChainRow> =>
    inTransaction(db, async (tx) => {
      await ensurePartition(tx, clock.now());
      await lockChains(tx);
      if (problem !== undefined) await recordBroken(tx, box, clock.now(), problem);
      return openChain(tx, box, { now: clock.now(), process: deps.process });
    });
  let row = await open(undefined);

  /**
   * What became of a signature that did not take hold. True: it did, since the answer to an earlier attempt was lost.
   * Otherwise `row` is what the next attempt goes on from.
   */
  const isWritten = async (tried: Buffer): Promise<boolean> => {
    const found = await findChain(db, row.chain);
    if (found?.mac.equals(tried)) return true;
    const problem = found === undefined ? missing(row.chain) : findProblem(key, row, found);
    if (found !== undefined && problem === undefined && !found.closed) {
      // An end that was signed without an answer. What this process vouched for stays.
      const head = { ...row, signed: clock.now() };
      const mac = signHead(key, head);
      if (await replaceHead(db, head, mac, found.mac)) row = { ...head, mac };
      return false;
    }
    // Another process may have closed the chain of one that was silent for long: that is no problem.
    if (problem !== undefined) log.error(problem, 'the chain of this process is not as it was written');
    row = await open(problem);
    return false;
  };

  const append = async (events: readonly (AuditEvent & { ids_indexed?: boolean })[]): Promise<void> => {
    for (;;) {
      const appended = appendToChain(row.chain, row, events);
      // The same at each attempt, so that one whose answer was lost is known by its signature.
      const head = { ...row, ...appended.end, signed: events.at(-1)?.at ?? row.signed };
      const mac = signHead(key, head);
      const written = await insertSigned(db, appended.events, head, mac, row.mac).catch((error: unknown) => {
        // Something else stands in the place of the next event.
        if (!isUniqueViolation(error)) throw error;
        return occupied;
      });
      if (written === occupied) {
        const problem = { chain: row.chain, seq: row.seq + 1, problem: auditProblems.eventsBehind };
        log.error(problem, 'the chain of this process is not as it was written');
        row = await open(problem);
        continue;
      }
      if (!written && !(await isWritten(mac))) continue;
      row = { ...head, mac };
      witness.note(row.chain, appended.end);
      return;
    }
  };

  const sign = async (closed: boolean): Promise<void> => {
    for (let attempt = 0; attempt < signAttemptsMax; attempt += 1) {
      const head = { ...row, closed, signed: clock.now(), seen: await vouchFor(db, key, row.seen) };
      const mac = signHead(key, head);
      if (!(await replaceHead(db, head, mac, row.mac)) && !(await isWritten(mac))) continue;
      row = { ...head, mac };
      return;
    }
  };

  // Both go on from the same head.
  let turn: Promise<unknown> = Promise.resolve();
  const inTurn = (work: () => Promise<void>): Promise<void> => {
    const done = turn.then(work, work);
    turn = done.catch(() => undefined);
    return done;
  };
  return { append: (events) => inTurn(() => append(events)), sign: (closed) => inTurn(() => sign(closed)) };
};

const signAttemptsMax = 3;
const occupied = 'occupied';

const missing = (chain: number): AuditProblem => ({ chain, seq: null, problem: auditProblems.chainMissing });

/** `found` is not what was signed last as `row`. */
const findProblem = (key: Buffer, row: ChainRow, found: ChainRow): AuditProblem | undefined => {
  const signature = checkSignatures(key, found);
  if (signature !== undefined) return signature;
  if (found.seq === row.seq && found.hash === row.hash) return undefined;
  return { chain: row.chain, seq: Math.min(found.seq, row.seq) + 1, problem: auditProblems.headReplaced };
};
