/** A disk that is full: what the program says then, and that it goes on when there is room again. Only root can mount one. */
import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { root, startProgram } from '../support/program.ts';
import { until } from '../support/until.ts';

const folder = mkdtempSync(join(tmpdir(), 'orderpass-disk-'));
const filler = join(folder, 'filler');
const env = { ORDERPASS_DATA_DIR: join(folder, 'data'), NODE_ENV: 'production' };

const canMount = ((): boolean => {
  if (process.getuid?.() !== 0) return false;
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=400m,mode=0755', 'tmpfs', folder], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
})();
const why = canMount ? '' : ' (skipped: only root can mount a small disk, and not everywhere)';

beforeAll(() => chmodSync(folder, 0o755));
afterAll(() => {
  if (canMount) execFileSync('umount', ['-l', folder]);
  rmSync(folder, { recursive: true, force: true });
});

/** Takes the room that is left. */
const fill = (): void => {
  try {
    execFileSync('dd', ['if=/dev/zero', `of=${filler}`, 'bs=4k', 'oflag=append', 'conv=notrunc'], { stdio: 'ignore' });
  } catch {
    // It ends with an error when there is no room left, which is what it is for.
  }
};

const readiness = async (url: string): Promise<{ code: number; writes?: string; store?: string }> => {
  const answer = await fetch(`${url}/readyz`);
  return { code: answer.status, ...((await answer.json()) as { writes: string; store: string }) };
};

test.skipIf(!canMount)(
  `F-59 /readyz says that writes fail while the disk is full, and is 200 again when there is room${why}`,
  async () => {
    const program = await startProgram(env);
    onTestFinished(() => program.kill());
    expect(await readiness(program.url)).toMatchObject({ code: 200, writes: 'ok' });
    await until(async () => {
      // The server may have freed some room since.
      fill();
      return (await readiness(program.url)).code === 503;
    });
    expect(await readiness(program.url)).toMatchObject({ code: 503, writes: 'failing' });
    rmSync(filler);
    await until(async () => (await readiness(program.url)).code === 200);
    expect(await program.stop()).toBe(0);
  },
);

test.skipIf(!canMount)(
  `F-61 a start on a full disk reports it first and retries until there is room${why}`,
  async () => {
    writeFileSync(filler, '');
    fill();
    const child = spawn(process.execPath, [join(root, 'src/cli/launch.mjs'), 'start'], {
      cwd: root,
      env: { PATH: process.env.PATH ?? '', PORT: '0', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    let said = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => {
        said += chunk.toString();
      });
    await until(() => said.includes('the disk is full') || child.exitCode !== null);
    expect(said).toContain('the disk is full');
    const reason = JSON.parse(said.split('\n').find((line) => line.includes('the disk is full')) ?? '{}').reason;
    expect(reason).toMatch(/^(No space left on device|ENOSPC: no space left on device)/);
    rmSync(filler);
    await until(() => said.includes('Orderpass listens on'));
    expect(child.exitCode).toBeNull();
    child.kill('SIGINT');
    await until(() => child.exitCode === 0);
  },
);
