/** A setting that cannot be used: its path, and the remedy. */
export type SettingProblem = { path: string; message: string };

export class SettingsError extends Error {
  readonly problems: readonly SettingProblem[];
  constructor(problems: readonly SettingProblem[]) {
    super(problems.map((problem) => `${problem.path}: ${problem.message}`).join('\n'));
    this.name = 'SettingsError';
    this.problems = problems;
  }
}
