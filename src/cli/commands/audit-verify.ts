import type { Command } from 'commander';
import type { Output } from '../output.ts';
import { withAdmin } from '../with-admin.ts';

export const auditVerifyCommand = (group: Command, output: Output): void => {
  group
    .command('verify')
    .description(
      'check that nothing of the audit was changed or removed; names the first place, exit code 1 when there is one',
    )
    .action(async (_options: unknown, command: Command) => {
      const shows = process.stderr.isTTY && !output.json;
      const progress = (events: number): void => void (shows && process.stderr.write(`\r${events} events`));
      const { first_problem: problem, ...counts } = await withAdmin(command, (admin) => admin.verifyAudit(progress));
      if (shows) process.stderr.write('\r\u001b[K');
      if (output.json) output.result({ ok: problem === null, ...counts, first_problem: problem });
      else {
        output.result(counts);
        if (problem === null) output.line('\nNothing was changed or removed.');
        else {
          const place = problem.seq === null ? `chain ${problem.chain}` : `event ${problem.chain}-${problem.seq}`;
          output.error(`${place}: ${problem.problem}`);
        }
      }
      if (problem !== null) output.fail();
    });
};
