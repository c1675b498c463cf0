/** The Dockerfile, as an engine and as `npm run image` read it. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readImageConfig } from '../../../config/image/image-config.ts';
import { root } from '../../support/program.ts';
import { secretsAmong, unknownNames } from './settings-of.ts';

const dockerfile = readFileSync(join(root, 'config/Dockerfile'), 'utf8');
const config = readImageConfig(dockerfile);

test('A-271 the image copies what exists and what the program needs', () => {
  const sources = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, names = '']) => names.split(' '));
  expect(sources.filter((source) => !existsSync(join(root, source)))).toEqual([]);
  expect(sources).toEqual(
    expect.arrayContaining(['src', 'config', 'package.json', 'package-lock.json', 'tsconfig.json']),
  );
});

test('A-271 the image runs as a user without rights, and has a health check and no secret', () => {
  expect(config.User).toBe('65532:65532');
  expect(config.Entrypoint[0]).toBe('node');
  expect(existsSync(join(root, config.Entrypoint[1] ?? ''))).toBe(true);
  expect(config.Cmd).toEqual(['start']);
  expect(config.Healthcheck).toEqual({
    Test: ['CMD', 'node', '/app/health-check.mjs'],
    Interval: 10e9,
    Timeout: 10e9,
    StartPeriod: 20e9,
    Retries: 3,
  });
  const env = Object.fromEntries(config.Env.map((pair) => pair.split('=') as [string, string]));
  const names = Object.keys(env).filter((name) => name !== 'PATH');
  expect(unknownNames(names)).toEqual([]);
  expect(secretsAmong(names)).toEqual([]);
  expect(Object.keys(config.ExposedPorts)).toEqual(['8080/tcp', `${env.ORDERPASS_INTERNAL_PORT}/tcp`]);
});

test('A-271 an instruction that the build without an engine cannot read is an error, not left out', () => {
  const stage = 'FROM a AS build\nRUN make\nFROM scratch\n';
  expect(readImageConfig(`${stage}# Why.\nENV A=1 \\\n  B="2 3"\n`).Env).toEqual([
    'PATH=/usr/local/bin',
    'A=1',
    'B=2 3',
  ]);
  expect(() => readImageConfig(`${stage}RUN make\n`)).toThrow('RUN');
});
