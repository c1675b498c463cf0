/** Problems of the settings of TLS that the files and the other settings show. */
import { readAuthorities, readCertificate, validityProblem } from '#src/platform/http/tls/read-certificate.ts';
import { nameOf, type SettingProblem, type Settings } from './config.ts';
import { internalFilesOf, publicFilesOf } from './tls-files.ts';

const settingNames = { certFile: 'cert_file', keyFile: 'key_file', clientCaFile: 'client_ca_file' } as const;

/** Of the listeners that the role has. */
const certificatesOf = (settings: Settings) =>
  [
    { section: 'tls', files: publicFilesOf(settings) },
    { section: 'internal_tls', files: internalFilesOf(settings) },
  ] as const;

export const tlsProblems = (settings: Settings): SettingProblem[] => [
  ...certificatesOf(settings).flatMap(({ section, files }) =>
    (files === undefined ? [] : readCertificate(files).problems).map(({ file, message }) => ({
      path: nameOf(`${section}.${settingNames[file]}`),
      message,
    })),
  ),
  ...lonelyAuthorities(settings),
  ...(publicFilesOf(settings) !== undefined && settings.origin?.startsWith('http:')
    ? [{ path: nameOf('origin'), message: 'must begin with https://, since the public listener speaks TLS' }]
    : []),
];

/** Authorities for certificates that proxies name, beside a listener without TLS. */
const lonelyAuthorities = (settings: Settings): SettingProblem[] => {
  const { client_ca_file: file, cert_file: certFile } = settings.tls;
  const read = file === undefined || certFile !== undefined ? undefined : readAuthorities(file);
  return typeof read === 'string' ? [{ path: nameOf('tls.client_ca_file'), message: `${file} ${read}` }] : [];
};

/** A start only warns about a certificate that is not valid now, since a renewed one is used without another start. */
export const validityProblems = (settings: Settings): SettingProblem[] =>
  certificatesOf(settings).flatMap(({ section, files }) => {
    const read = files === undefined ? undefined : readCertificate(files).certificate;
    const message = read && validityProblem(read, Date.now());
    return message === undefined ? [] : [{ path: nameOf(`${section}.cert_file`), message }];
  });
