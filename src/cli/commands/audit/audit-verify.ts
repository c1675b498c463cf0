import { createReadStream, existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
import type { Command } from 'commander';
import { type Output, UsageError } from '../../terminal/output.ts';
import { withAdmin } from '../../terminal/with-admin.ts';
import { readCheckpoint } from './read-checkpoint.ts';

type Options = { against?: string; checkpoint?: string };

/** The number of problems that a verification reports at most. */
const problemsMax = 100;

/** A verification cannot miss events that were cut off after the last signature. */
const soundText = ({ unsigned, isCompared }: { unsigned: number; isCompared: boolean }): string => {
  if (!isCompared)
    return 'Nothing of what the database holds was changed. Events that were removed from the end would not be seen: no earlier end is known here. Verify with the data folder of a gateway, or with --against or --checkpoint.';
  return unsigned === 0
    ? 'Nothing was changed or removed.'
    : `Nothing was changed or removed up to the last signatures; ${unsigned} events are newer.`;
};

/** The tree does not tell who dropped an event, so the reader compares the numbers with the retention. */
const droppedText = (size: number, dropped: number, oldest: string | null): string =>
  `${dropped} of the ${size} events of the checkpoint are not stored any more. The retention drops old months only: the oldest stored event${oldest === null ? '' : `, of ${oldest},`} must be about as old as it keeps events.`;

export const auditVerifyCommand = (group: Command, output: Output): void => {
  group
    .command('verify')
    .description(
      'check that no event of the audit was changed or removed; reports up to 100 problems, exit code 1 if there are any',
    )
    .option('--against <file>', 'also check that each event of an earlier export, or of a sink, still exists')
    .option('--checkpoint <file>', 'also check that the audit continues this older checkpoint')
    .action(async ({ against, checkpoint }: Options, command: Command) => {
      if (against !== undefined && !existsSync(against)) throw new UsageError(`There is no file ${against}`);
      const kept = checkpoint === undefined ? undefined : readCheckpoint(checkpoint);
      const shows = process.stderr.isTTY && !output.json;
      const progress = (events: number): void => void (shows && process.stderr.write(`\r${events} events`));
      const found = await withAdmin(command, async (admin) => ({
        verified: await admin.verifyAudit(progress),
        compared: against === undefined ? undefined : await admin.verifyAgainst(linesOf(against)),
        checkpoint: kept === undefined ? undefined : await admin.verifyCheckpoint(kept),
      }));
      if (shows) process.stderr.write('\r\u001b[K');
      const { firstProblem: first, problems: verified, knownEnds, ...counts } = found.verified;
      const isCompared = knownEnds > 0 || against !== undefined || kept !== undefined;
      const tree = found.checkpoint;
      const problems = [...verified, ...(found.compared?.problems ?? []), ...(tree?.problems ?? [])];
      const ok = problems.length === 0 && (tree?.problem ?? null) === null;
      const all = {
        ...counts,
        ...(found.compared === undefined ? undefined : { compared: found.compared.compared }),
        ...(tree === undefined
          ? undefined
          : { checkpoint: { size: tree.size, dropped: tree.dropped, oldest: tree.oldest, problem: tree.problem } }),
      };
      if (output.json) {
        output.result({ ok, ...all, known_ends: knownEnds, first_problem: first ?? problems[0] ?? null, problems });
      } else {
        output.result(all);
        if (ok) output.line(`\n${soundText({ unsigned: counts.unsigned, isCompared })}`);
        if (tree?.dropped) output.line(droppedText(tree.size, tree.dropped, tree.oldest));
        if (tree?.problem) output.error(`checkpoint: ${tree.problem}`);
        for (const { chain, seq, problem } of problems) {
          output.error(`${seq === null ? `chain ${chain}` : `event ${chain}-${seq}`}: ${problem}`);
        }
        if (verified.length >= problemsMax || (tree?.problems.length ?? 0) >= problemsMax)
          output.error(`There may be more: at most ${problemsMax} problems are reported.`);
      }
      if (!ok) output.fail();
    });
};

/** Reads whole lines only: after a crash the file of a sink may end with a partial line. */
async function* linesOf(file: string): AsyncGenerator<string, void, undefined> {
  let ended = true;
  const stream = createReadStream(file);
  stream.on('data', (chunk) => {
    ended = String(chunk).endsWith('\n');
  });
  let before: string | undefined;
  for await (const line of createInterface({ input: stream, crlfDelay: Number.POSITIVE_INFINITY })) {
    if (before !== undefined) yield before;
    before = line;
  }
  if (before !== undefined && ended) yield before;
}
