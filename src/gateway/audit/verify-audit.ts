/** Walks every chain from its anchor to its signed head and names the first place where something is not as it was written. */
import type { Kysely } from 'kysely';
import type { SecretBox } from '#src/platform/secret-box.ts';
import { auditProblems } from './audit-problem.ts';
import { type ChainRow, listChainEvents, listChains } from './audit-store.ts';
import { type ChainEnd, hashEvent, headLabel, isSignature, signAnchor, signHead } from './chain.ts';
import { keysOf } from './token-uses.ts';

export type AuditProblem = {
  chain: number;
  /** Of the first event that is wrong or missing; null when the chain as a whole is. */
  seq: number | null;
  problem: string;
};

export type VerifiedAudit = {
  chains: number;
  events: number;
  /** Written since a head was signed last: their chain is right, but nobody could tell if they were cut off now. */
  unsigned: number;
  first_problem: AuditProblem | null;
};

const pageSizeDefault = 1_000;
const chainsPage = 200;

type Deps = { db: Kysely<unknown>; box: Pick<SecretBox, 'derive'> };

type OnPage = (events: number) => void | Promise<void>;

/** Memory is bounded: pages of 1,000 events, or `pageSize`. `onProgress` hears of each page, and may take its time. */
export const verifyAudit = async (
  deps: Deps,
  onProgress: OnPage = () => undefined,
  pageSize = pageSizeDefault,
): Promise<VerifiedAudit> => {
  const key = deps.box.derive(headLabel);
  const found: VerifiedAudit = { chains: 0, events: 0, unsigned: 0, first_problem: null };
  let after = -1;
  const seqs = new Map<number, number>();
  const vouched = new Map<number, number>();
  const fail = (chain: number, seq: number | null, problem: string): VerifiedAudit => ({
    ...found,
    first_problem: { chain, seq, problem },
  });
  for (;;) {
    const rows = await listChains(deps.db, after, chainsPage);
    for (const row of rows) {
      if (row.chain !== after + 1) return fail(after + 1, null, auditProblems.chainMissing);
      after = row.chain;
      const signature = checkSignatures(key, row);
      if (signature !== undefined) return fail(row.chain, null, signature);
      seqs.set(row.chain, row.seq);
      for (const [chain, seq] of JSON.parse(row.seen) as [number, number][]) {
        vouched.set(chain, Math.max(seq, vouched.get(chain) ?? 0));
      }
      const walked = await walkChain(deps.db, row, pageSize, (events) => onProgress(found.events + events));
      found.chains += 1;
      found.events += walked.events;
      found.unsigned += Math.max(0, walked.end.seq - row.seq);
      if (walked.problem !== undefined) return fail(row.chain, walked.problem.seq, walked.problem.text);
    }
    if (rows.length < chainsPage) break;
  }
  // Ascending, so that the first one is named.
  for (const [chain, seq] of [...vouched].toSorted(([a], [b]) => a - b)) {
    // A chain that was read early may have grown since.
    const signed = (seqs.get(chain) ?? -1) < seq ? (await listChains(deps.db, chain - 1, 1))[0] : undefined;
    if (signed === undefined && seqs.has(chain)) continue;
    if (signed?.chain !== chain) return fail(chain, null, auditProblems.chainMissing);
    if (signed.seq < seq) return fail(chain, signed.seq + 1, `${auditProblems.endMissing} ${seq} at least`);
  }
  return found;
};

const checkSignatures = (key: Buffer, row: ChainRow): string | undefined => {
  if (!isSignature(row.mac, signHead(key, row))) return auditProblems.headSignature;
  const anchor = { seq: row.anchorSeq, hash: row.anchorHash };
  if (!isSignature(row.anchorMac, signAnchor(key, row.chain, anchor))) return auditProblems.anchorSignature;
  return undefined;
};

type Walked = { events: number; end: ChainEnd; problem?: { seq: number; text: string } };

const walkChain = async (db: Kysely<unknown>, row: ChainRow, pageSize: number, onPage: OnPage): Promise<Walked> => {
  let end: ChainEnd = { seq: row.anchorSeq, hash: row.anchorHash };
  let events = 0;
  for (;;) {
    const page = await listChainEvents(db, row.chain, end.seq, pageSize);
    for (const event of page) {
      const seq = end.seq + 1;
      if (event.seq !== seq) return { events, end, problem: { seq, text: auditProblems.eventMissing } };
      if (hashEvent(end.hash, row.chain, seq, event) !== event.hash || keysOf(event.uses) !== event.use_keys) {
        return { events, end, problem: { seq, text: auditProblems.eventChanged } };
      }
      end = { seq, hash: event.hash };
      events += 1;
      if (seq === row.seq && event.hash !== row.hash) {
        return { events, end, problem: { seq, text: auditProblems.eventNotSigned } };
      }
    }
    await onPage(events);
    if (page.length < pageSize) break;
  }
  if (end.seq < row.seq) {
    return { events, end, problem: { seq: end.seq + 1, text: `${auditProblems.endMissing} ${row.seq}` } };
  }
  return { events, end };
};
