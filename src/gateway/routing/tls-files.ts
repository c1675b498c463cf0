/** The files of TLS that the upstreams of a route table name: their paths, and what is wrong with them. */
import { dirname, resolve } from 'node:path';
import { z } from 'zod';
import { type ClientTlsFiles, readClientTls } from '#src/platform/http/tls/read-client-tls.ts';
import type { RouteTable } from '../model/route.ts';

/** The table with absolute paths: those of the file begin at its folder. */
export const withAbsolutePaths = (table: RouteTable, file: string): RouteTable => ({
  ...table,
  upstreams: Object.fromEntries(
    Object.entries(table.upstreams).map(([name, policy]) => [
      name,
      policy.tls === undefined ? policy : { ...policy, tls: { ...policy.tls, ...absolute(policy.tls, file) } },
    ]),
  ),
});

const absolute = (files: ClientTlsFiles, file: string): ClientTlsFiles => {
  const from = (path: string | undefined): string | undefined => path && resolve(dirname(file), path);
  return { caFile: from(files.caFile), certFile: from(files.certFile), keyFile: from(files.keyFile) };
};

/** Every problem with its path in the table. */
export const tlsFileProblems = (upstreams: Readonly<Record<string, { tls?: ClientTlsFiles | undefined }>>): string[] =>
  Object.entries(upstreams).flatMap(([name, { tls = {} }]) =>
    readClientTls(tls).problems.map((problem) => `upstreams.${name}.tls.${problem.file}: ${problem.message}`),
  );

const path = z.string().min(1).optional().catch(undefined);
const looseUpstreams = z
  .object({
    upstreams: z.record(
      z.string(),
      z.object({ tls: z.object({ caFile: path, certFile: path, keyFile: path }).optional() }).catch({}),
    ),
  })
  .catch({ upstreams: {} });

/** The upstreams of a table that has other problems. `value`: the parsed file. */
const looseTls = (value: unknown, file: string): Record<string, { tls?: ClientTlsFiles | undefined }> => {
  const { upstreams } = looseUpstreams.parse(value);
  return Object.fromEntries(
    Object.entries(upstreams).map(([name, { tls }]) => [name, { tls: tls && absolute(tls, file) }]),
  );
};

/** Those of a table that has other problems. `value`: the parsed file. */
export const looseTlsFileProblems = (value: unknown, file: string): string[] => tlsFileProblems(looseTls(value, file));

/** The paths of the files, of a table that may have problems. `value`: the parsed file. */
export const looseTlsFiles = (value: unknown, file: string): string[] => tlsFilesOf(looseTls(value, file));

export const tlsFilesOf = (upstreams: Readonly<Record<string, { tls?: ClientTlsFiles | undefined }>>): string[] =>
  Object.values(upstreams)
    .flatMap(({ tls = {} }) => [tls.caFile, tls.certFile, tls.keyFile])
    .filter((path) => path !== undefined);
