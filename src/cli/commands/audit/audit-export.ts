import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import type { Command } from 'commander';
import { exportFormats } from '#src/app/admin/terms.ts';
import { type Output, UsageError } from '../../terminal/output.ts';
import { withAdmin } from '../../terminal/with-admin.ts';

type Options = { format: string; after?: string; cursorFile?: string };

export const auditExportCommand = (group: Command, output: Output): void => {
  group
    .command('export')
    .description(
      'print the audit as lines on standard output, each event at least once; the cursor goes to standard error',
    )
    .option('--format <format>', 'jsonl (Elastic Common Schema) or csv', 'jsonl')
    .option('--after <cursor>', 'only events after the export that returned this cursor')
    .option('--cursor-file <file>', 'read the cursor from this file if it exists, and write the new one to it')
    .action(async (options: Options, command: Command) => {
      const format = exportFormats.find((name) => name === options.format);
      if (format === undefined) throw new UsageError(`--format is ${exportFormats.join(' or ')}`);
      if (output.json) throw new UsageError('An export is many lines, not one JSON object: use --format jsonl');
      if (options.after !== undefined && options.cursorFile !== undefined) {
        throw new UsageError('Give the cursor once: --after or --cursor-file');
      }
      const after = options.after ?? readCursor(options.cursorFile);
      // A closed pipe rejects the write below. Without this listener the error event would end the process first.
      process.stdout.on('error', () => undefined);
      const { cursor, events, gaps } = await withAdmin(command, (admin) => admin.exportAudit({ format, after, write }));
      for (const { chain, from, to } of gaps) {
        output.error(`gap: events ${chain}-${from} to ${chain}-${to} no longer exist`);
      }
      // Written last: after a failure the next export repeats these events.
      if (options.cursorFile !== undefined) saveCursor(options.cursorFile, cursor);
      output.error(`${events} events`);
      output.error(`cursor ${cursor}`);
    });
};

const write = (text: string): Promise<void> =>
  new Promise((resolve, reject) => {
    process.stdout.write(text, (error) => (error == null ? resolve() : reject(error)));
  });

const readCursor = (file: string | undefined): string | undefined =>
  file === undefined || !existsSync(file) ? undefined : readFileSync(file, 'utf8').trim();

const saveCursor = (file: string, cursor: string): void => {
  writeFileSync(`${file}.new`, `${cursor}\n`, { flush: true });
  renameSync(`${file}.new`, file);
};
