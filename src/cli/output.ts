/** What a command says: values on stdout (text for people, one JSON object for scripts), problems on stderr. */

/** Wrong use of the command line: exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

export type Output = ReturnType<typeof createOutput>;

export const createOutput = (options: { json: boolean }) => {
  let code = 0;
  return {
    json: options.json,
    /** The result of the command: members as `name  value` lines, or as one JSON object. */
    result(members: Readonly<Record<string, unknown>>, note?: string): void {
      if (options.json) {
        process.stdout.write(`${JSON.stringify(members)}\n`);
        return;
      }
      const width = Math.max(0, ...Object.keys(members).map((name) => name.length));
      for (const [name, value] of Object.entries(members)) {
        process.stdout.write(`${name.padEnd(width)}  ${typeof value === 'string' ? value : JSON.stringify(value)}\n`);
      }
      if (note !== undefined) process.stdout.write(`\n${note}\n`);
    },
    line(text: string): void {
      process.stdout.write(`${text}\n`);
    },
    error(text: string): void {
      process.stderr.write(`${text}\n`);
    },
    fail(): void {
      code = 1;
    },
    exitCode: (): number => code,
  };
};
