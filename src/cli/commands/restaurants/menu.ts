import { type Command, Option } from 'commander';
import type { ImportedMenu } from '#src/app/admin/admin.ts';
import { csvColumns, type MenuFile, readMenuFile } from '../../files/menu-file.ts';
import { type Output, UsageError } from '../../terminal/output.ts';
import { createProgressBar } from '../../terminal/progress-bar.ts';
import { toNumber } from '../../terminal/to-number.ts';
import { withAdmin } from '../../terminal/with-admin.ts';

type ImportOptions = {
  restaurant: string;
  clientId?: string;
  posUid: string;
  mode: 'merge' | 'replace';
  maxRemovalPercent: string;
  confirmRemoval?: boolean;
  dryRun?: boolean;
  progress?: boolean;
};

export const menuCommands = (program: Command, output: Output): void => {
  const group = program.command('menu').description('menus of restaurants');
  group
    .command('import <file>')
    .description('import a menu from a JSON file (categories and products as in the body of menu/import) or a CSV file')
    .requiredOption('--restaurant <restuid>', 'id of the restaurant')
    .option(
      '--client-id <id>',
      'client that owns the elements (default: the restaurant itself, whose elements no client can change)',
    )
    .option('--pos-uid <uid>', 'point of sale of the elements', 'cli')
    .addOption(
      new Option('--mode <mode>', 'merge: nothing is removed; replace: what is not in the file is removed')
        .choices(['merge', 'replace'])
        .default('merge'),
    )
    .option('--max-removal-percent <percent>', 'a replace that removes more than this is refused', '50')
    .option('--confirm-removal', 'allow a replace to remove any part of the menu')
    .option('--dry-run', 'show the changes without making them')
    .option('--progress', 'show the progress bar even if stderr is not a terminal')
    .addHelpText('after', `\n${csvColumns}`)
    .action(async (file: string, options: ImportOptions, command: Command) => {
      const menu = await readMenuFile(file, options.mode).catch((error: unknown) => {
        throw new UsageError(`${file}: ${error instanceof Error ? error.message : String(error)}`);
      });
      const bar = createProgressBar(process.stderr);
      const isShown = !output.json && (options.progress === true || process.stderr.isTTY);
      const imported = await withAdmin(command, (admin) =>
        admin.importMenu({
          restuid: options.restaurant,
          owner: options.clientId ?? null,
          posUid: options.posUid,
          mode: options.mode,
          categories: menu.categories,
          products: menu.products,
          namesByExtId: menu.namesByExtId,
          maxRemovalPercent: percentOf(options.maxRemovalPercent),
          confirmRemoval: options.confirmRemoval === true,
          dryRun: options.dryRun === true,
          ...(isShown ? { progress: bar.show } : undefined),
        }),
      ).finally(() => bar.end());
      tell(imported, menu, output);
    });
};

const percentOf = (text: string): number => {
  const percent = toNumber('--max-removal-percent', text);
  if (!Number.isInteger(percent) || percent < 0 || percent > 100)
    throw new UsageError(`--max-removal-percent must be 0 to 100, not ${text}`);
  return percent;
};

const tell = (imported: ImportedMenu, menu: MenuFile, output: Output): void => {
  const placed = <F extends { pointer: string | null }>(findings: readonly F[]): (F & { line: number | null })[] =>
    findings.map((finding) => ({ ...finding, line: lineOf(finding.pointer, menu) }));
  const errors = placed(imported.errors);
  const warnings = placed(imported.warnings);
  if (errors.length > 0) output.fail();
  if (output.json) return output.result({ ...imported, errors, warnings });
  for (const finding of errors) output.error(sentence('error', finding));
  for (const finding of warnings) output.error(sentence('warning', finding));
  const { state, version, base_version, counts } = imported;
  output.result({ state, version, base_version, ...counts });
};

/** The line of the element that a finding is about. */
const lineOf = (pointer: string | null, { lines }: MenuFile): number | null =>
  lines.get(pointer?.split('/').slice(0, 3).join('/') ?? '') ?? null;

const sentence = (
  kind: string,
  { line, pointer, code, message }: { line: number | null; pointer: string | null; code: string; message: string },
): string => `${kind}: ${line === null ? '' : `line ${line}, `}${pointer ?? ''} ${code}: ${message}`;
