/**
 * Compares the audit with an earlier export (`audit export`, or the file of a sink): each event of the file must still
 * have its position and hash, or lie before a signed beginning. This finds a database that was restored to an older
 * state, even when it is consistent in itself. Memory is bounded by one batch.
 */
import type { Kysely } from 'kysely';
import { Fault } from '#src/contract/fault.ts';
import type { SecretBox } from '#src/platform/secret-box.ts';
import { headLabel } from '../chain/chain.ts';
import { findChains, hashesAt, placeKey } from '../chain/chain-store.ts';
import { checkSignatures } from '../chain/check-chain.ts';
import { type AuditProblem, auditProblems } from '../chain/problem.ts';
import { checkpointAction } from '../event/event.ts';
import { readEventId } from '../event/event-id.ts';

export type ComparedAudit = {
  /** Lines of the file. */
  compared: number;
  /** At most 100. */
  problems: AuditProblem[];
};

type Deps = { db: Kysely<unknown>; box: Pick<SecretBox, 'derive'> };
type Exported = { chain: number; seq: number; hash: string };

const batchLines = 1_000;
const problemsMax = 100;

/** `lines`: exported JSON lines or CSV. VALIDATION_ERROR when a line is neither. */
export const verifyAgainst = async (deps: Deps, lines: AsyncIterable<string>): Promise<ComparedAudit> => {
  const found: ComparedAudit = { compared: 0, problems: [] };
  let batch: Exported[] = [];
  let number = 0;
  const compare = async (): Promise<void> => {
    found.compared += batch.length;
    found.problems.push(...(await compareBatch(deps, batch)).slice(0, problemsMax - found.problems.length));
    batch = [];
  };
  let read: ((line: string) => Exported | undefined) | undefined;
  for await (const line of lines) {
    number += 1;
    if (line.trim() === '') continue;
    if (read === undefined) {
      read = readerOf(line);
      if (read !== readJson) continue;
    }
    if (isCheckpoint(line)) continue;
    const event = read(line);
    if (event === undefined && read !== readJson) continue;
    if (event === undefined) throw new Fault('VALIDATION_ERROR', `Line ${number} is not an event of an export`);
    batch.push(event);
    if (batch.length === batchLines) await compare();
  }
  await compare();
  if (found.compared === 0) throw new Fault('VALIDATION_ERROR', 'The file holds no event of an export');
  return found;
};

const compareBatch = async ({ db, box }: Deps, batch: readonly Exported[]): Promise<AuditProblem[]> => {
  if (batch.length === 0) return [];
  const key = box.derive(headLabel);
  // Hashes are read before the heads: events that the retention drops in between lie before the beginning read
  // afterwards.
  const hashes = await hashesAt(db, distinct(batch));
  const rows = await findChains(db, [...new Set(batch.map(({ chain }) => chain))]);
  const heads = new Map(rows.map((row) => [row.chain, row]));
  const problems = new Map<string, AuditProblem>();
  for (const { chain, seq, hash } of batch) {
    const row = heads.get(chain);
    const isDropped = row !== undefined && seq <= row.anchorSeq && checkSignatures(key, row) === undefined;
    const stored = hashes.get(placeKey(chain, seq));
    if (stored === hash || isDropped) continue;
    if (row === undefined && stored === undefined) {
      problems.set(String(chain), { chain, seq: null, problem: auditProblems.chainMissing });
      continue;
    }
    const problem = stored === undefined ? auditProblems.eventMissing : auditProblems.notContinued;
    problems.set(placeKey(chain, seq), { chain, seq, problem });
  }
  return [...problems.values()];
};

/** A stored event of many tokens has one line for each token. */
const distinct = (batch: readonly Exported[]): Exported[] => [
  ...new Map(batch.map((event) => [placeKey(event.chain, event.seq), event])).values(),
];

const readerOf = (line: string): ((line: string) => Exported | undefined) => {
  const names = line.trimEnd().split(',');
  const [id, hash] = [names.indexOf('event.id'), names.indexOf('event.hash')];
  if (line.startsWith('{') || id === -1 || hash === -1) return readJson;
  // The columns up to these two are never quoted. A later field with a line break makes further lines, which are
  // skipped.
  return (row) => {
    const cells = row.split(',');
    return toExported(cells[id], cells[hash]);
  };
};

/** Lines of a sink that are no events; `audit verify --checkpoint` is about them. */
const isCheckpoint = (line: string): boolean => {
  if (!line.includes(`"${checkpointAction}"`)) return false;
  try {
    return (JSON.parse(line) as Record<string, unknown> | null)?.['event.action'] === checkpointAction;
  } catch {
    return false;
  }
};

const readJson = (line: string): Exported | undefined => {
  try {
    const event = JSON.parse(line) as Record<string, unknown> | null;
    return toExported(event?.['event.id'], event?.['event.hash']);
  } catch {
    return undefined;
  }
};

const toExported = (id: unknown, hash: unknown): Exported | undefined => {
  const place = typeof id === 'string' ? readEventId(id) : undefined;
  if (place === undefined || typeof hash !== 'string' || !/^[0-9a-f]{64}$/.test(hash)) return undefined;
  return { chain: place.chain, seq: place.seq, hash };
};
