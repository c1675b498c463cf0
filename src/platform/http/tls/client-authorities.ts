/**
 * The authorities of client certificates, for certificates that come in a header and not in a handshake, and for those of
 * handshakes whose authority is in the file without its root, which Node's servers do not verify. The file is looked at
 * when it is needed, at most once a second, so that new authorities count without a restart. A file that cannot be used leaves
 * the earlier ones.
 */
import { X509Certificate } from 'node:crypto';
import { statSync } from 'node:fs';
import type { Logger } from '../../log.ts';
import { hasStrongSignature, mayAuthenticate, mayIssue } from './issuer-rules.ts';
import { readAuthorities } from './read-certificate.ts';

export type ClientAuthorities = {
  /**
   * One of the authorities has signed the certificate itself, or through authorities of the chain, and the certificate may be
   * used by clients. `chain`: each signed the one before it, the first one the certificate.
   */
  haveSigned(certificate: X509Certificate, nowMs: number, chain?: readonly X509Certificate[]): boolean;
};

const lookEveryMs = 1_000;

/** Throws when the file cannot be used. */
export const openClientAuthorities = (path: string, log: Logger): ClientAuthorities => {
  let current = load(path);
  let lookedMs = performance.now();
  let seen = versionOf(path);
  const refresh = (): void => {
    if (performance.now() - lookedMs < lookEveryMs) return;
    lookedMs = performance.now();
    const version = versionOf(path);
    if (version === seen) return;
    seen = version;
    try {
      current = load(path);
      log.warn({ path }, 'new authorities of client certificates are used');
    } catch (error) {
      log.error({ err: error }, 'the new authorities of client certificates are not used; the earlier ones count');
    }
  };
  return {
    haveSigned: (certificate, nowMs, chain = []) => {
      refresh();
      if (!mayAuthenticate(certificate)) return false;
      const isSigned = (one: X509Certificate, authority: X509Certificate): boolean =>
        hasStrongSignature(one) && one.checkIssued(authority) && one.verify(authority.publicKey);
      const isSignedByFile = (one: X509Certificate, below: number): boolean =>
        current.some((authority) => isSigned(one, authority) && mayIssue(authority, below, nowMs, 'file'));
      if (isSignedByFile(certificate, 0)) return true;
      let signed = certificate;
      for (const [index, issuer] of chain.entries()) {
        if (!mayIssue(issuer, index, nowMs, 'chain') || !isSigned(signed, issuer)) return false;
        if (isSignedByFile(issuer, index + 1)) return true;
        signed = issuer;
      }
      return false;
    },
  };
};

const load = (path: string): readonly X509Certificate[] => {
  const pem = readAuthorities(path);
  if (typeof pem === 'string') throw new Error(`${path} ${pem}`);
  const texts = pem.toString('latin1').match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  return texts.map((text) => new X509Certificate(text));
};

const versionOf = (path: string): string => {
  const { mtimeMs, ino, size } = statSync(path, { throwIfNoEntry: false }) ?? { mtimeMs: 0, ino: 0, size: 0 };
  return `${mtimeMs} ${ino} ${size}`;
};
