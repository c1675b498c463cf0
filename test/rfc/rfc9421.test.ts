/** The examples of RFC 9421, appendix B.2, by the code that builds and signs the bases of deliveries. */
import { constants, createHmac, createPrivateKey, createPublicKey, type KeyObject, verify } from 'node:crypto';
import { expect, test } from 'vitest';
import { signatureBase, signBase } from '#src/webhooks/signing/message-signature.ts';

const pem = (kind: string, lines: string): string => `-----BEGIN ${kind}-----\n${lines}\n-----END ${kind}-----\n`;

/** Appendix B.1. */
const keys = {
  rsaPss: createPublicKey(
    pem(
      'PUBLIC KEY',
      `MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAr4tmm3r20Wd/PbqvP1s2
+QEtvpuRaV8Yq40gjUR8y2Rjxa6dpG2GXHbPfvMs8ct+Lh1GH45x28Rw3Ry53mm+
oAXjyQ86OnDkZ5N8lYbggD4O3w6M6pAvLkhk95AndTrifbIFPNU8PPMO7OyrFAHq
gDsznjPFmTOtCEcN2Z1FpWgchwuYLPL+Wokqltd11nqqzi+bJ9cvSKADYdUAAN5W
Utzdpiy6LbTgSxP7ociU4Tn0g5I6aDZJ7A8Lzo0KSyZYoA485mqcO0GVAdVw9lq4
aOT9v6d+nb4bnNkQVklLQ3fVAvJm+xdDOp9LCNCN48V2pnDOkFV6+U9nV5oyc6XI
2wIDAQAB`,
    ),
  ),
  p256: createPrivateKey(
    pem(
      'EC PRIVATE KEY',
      `MHcCAQEEIFKbhfNZfpDsW43+0+JjUr9K+bTeuxopu653+hBaXGA7oAoGCCqGSM49
AwEHoUQDQgAEqIVYZVLCrPZHGHjP17CTW0/+D9Lfw0EkjqF7xB4FivAxzic30tMM
4GF+hR6Dxh71Z50VGGdldkkDXZCnTNnoXQ==`,
    ),
  ),
  ed25519: createPrivateKey(pem('PRIVATE KEY', 'MC4CAQAwBQYDK2VwBCIEIJ+DYvh6SEqVTm50DFtMDoQikTmiCqirVv9mWG9qfSnF')),
  shared: Buffer.from(
    'uzvJfB4u3N0Jy4T7NZ75MDVcr8zSTInedJtkgcu46YW4XByzNJjxBdtjUkdJPBtbmHhIDi6pcl8jsasjlTMtDQ==',
    'base64',
  ),
};

/** The request and the response of appendix B.2, as the components of their examples. */
const values: Readonly<Record<string, string>> = {
  date: 'Tue, 20 Apr 2021 02:07:55 GMT',
  '@method': 'POST',
  '@path': '/foo',
  '@query': '?param=Value&Pet=dog',
  '@query-param";name="Pet': 'dog',
  '@authority': 'example.com',
  '@status': '200',
  'content-type': 'application/json',
  'content-digest':
    'sha-512=:WZDPaVn/7XgHaAy8pmojAkGWoRx2UFChF41A2svX+TaPm+AbwAgBWnrIiYllu7BNNyealdVLvRwEmTHWXvJwew==:',
  'content-length': '18',
};
const ofResponse = {
  'content-digest':
    'sha-512=:mEWXIS7MaLRuGgxOBdODa3xqM1XdEvxoYhvlCFJ41QJgJc4GTsPp29l5oGX69wWdXymyU0rjJuahq4l5aGgfLQ==:',
  'content-length': '23',
};

const baseOf = (parameters: string, of: Readonly<Record<string, string>> = values): string => {
  const list = /^\(([^)]*)\)/.exec(parameters)?.[1] ?? '';
  const covered = list === '' ? [] : list.split(' ');
  return signatureBase(
    covered.map((identifier) => [identifier, of[identifier.slice(1, -1)] ?? values[identifier.slice(1, -1)] ?? '']),
    parameters,
  );
};

const isByRsaPss = (base: string, signature: string): boolean =>
  verify(
    'sha512',
    Buffer.from(base),
    { key: keys.rsaPss, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 64 },
    Buffer.from(signature, 'base64'),
  );

const isByP256 = (base: string, signature: Buffer, key: KeyObject = createPublicKey(keys.p256)): boolean =>
  verify('sha256', Buffer.from(base), { key, dsaEncoding: 'ieee-p1363' }, signature);

test('A-404 RFC 9421 2.5, B.2.1 to B.2.3: the rsa-pss-sha512 examples verify over the bases', () => {
  const minimal = baseOf('();created=1618884473;keyid="test-key-rsa-pss";nonce="b3k2pp5k7z-50gnwp.yemd"');
  const selective = baseOf(
    '("@authority" "content-digest" "@query-param";name="Pet");created=1618884473;keyid="test-key-rsa-pss";tag="header-example"',
  );
  const full = baseOf(
    '("date" "@method" "@path" "@query" "@authority" "content-type" "content-digest" "content-length");created=1618884473;keyid="test-key-rsa-pss"',
  );
  const signatures = [
    'd2pmTvmbncD3xQm8E9ZV2828BjQWGgiwAaw5bAkgibUopemLJcWDy/lkbbHAve4cRAtx31Iq786U7it++wgGxbtRxf8Udx7zFZsckzXaJMkA7ChG52eSkFxykJeNqsrWH5S+oxNFlD4dzVuwe8DhTSja8xxbR/Z2cOGdCbzR72rgFWhzx2VjBqJzsPLMIQKhO4DGezXehhWwE56YCE+O6c0mKZsfxVrogUvA4HELjVKWmAvtl6UnCh8jYzuVG5WSb/QEVPnP5TmcAnLH1g+s++v6d4s8m0gCw1fV5/SITLq9mhho8K3+7EPYTU8IU1bLhdxO5Nyt8C8ssinQ98Xw9Q==',
    'LjbtqUbfmvjj5C5kr1Ugj4PmLYvx9wVjZvD9GsTT4F7GrcQEdJzgI9qHxICagShLRiLMlAJjtq6N4CDfKtjvuJyE5qH7KT8UCMkSowOB4+ECxCmT8rtAmj/0PIXxi0A0nxKyB09RNrCQibbUjsLS/2YyFYXEu4TRJQzRw1rLEuEfY17SARYhpTlaqwZVtR8NV7+4UKkjqpcAoFqWFQh62s7Cl+H2fjBSpqfZUJcsIk4N6wiKYd4je2U/lankenQ99PZfB4jY3I5rSV2DSBVkSFsURIjYErOs0tFTQosMTAoxk//0RoKUqiYY8Bh0aaUEb0rQl3/XaVe4bXTugEjHSw==',
    'bbN8oArOxYoyylQQUU6QYwrTuaxLwjAC9fbY2F6SVWvh0yBiMIRGOnMYwZ/5MR6fb0Kh1rIRASVxFkeGt683+qRpRRU5p2voTp768ZrCUb38K0fUxN0O0iC59DzYx8DFll5GmydPxSmme9v6ULbMFkl+V5B1TP/yPViV7KsLNmvKiLJH1pFkh/aYA2HXXZzNBXmIkoQoLd7YfW91kE9o/CCoC1xMy7JA1ipwvKvfrs65ldmlu9bpG6A9BmzhuzF8Eim5f8ui9eH8LZH896+QIF61ka39VBrohr9iyMUJpvRX2Zbhl5ZJzSRxpJyoEZAFL2FUo5fTIztsDZKEgM4cUA==',
  ];
  expect([minimal, selective, full].map((base, index) => isByRsaPss(base, signatures[index] ?? ''))).toEqual([
    true,
    true,
    true,
  ]);
  expect(isByRsaPss(full.replace('POST', 'GET'), signatures[2] ?? '')).toBe(false);
});

test('A-404 RFC 9421 3.3.4, B.2.4: the ecdsa-p256-sha256 example verifies, and so does what is signed here', () => {
  const base = baseOf(
    '("@status" "content-type" "content-digest" "content-length");created=1618884473;keyid="test-key-ecc-p256"',
    ofResponse,
  );
  const published = 'wNmSUAhwb5LxtOtOpNa6W5xj067m5hFrj0XQ4fvpaCLx0NKocgPquLgyahnzDnDAUy5eCdlYUEkLIj+32oiasw==';
  const own = signBase('ecdsa-p256-sha256', keys.p256, base);
  expect([isByP256(base, Buffer.from(published, 'base64')), isByP256(base, own), own.length]).toEqual([true, true, 64]);
  expect(isByP256(base.replace('200', '201'), own)).toBe(false);
  // Among so many some have integers that are a byte short, or two.
  const many = Array.from({ length: 5_000 }, () => signBase('ecdsa-p256-sha256', keys.p256, base));
  expect(many.filter((one) => one.length !== 64 || !isByP256(base, one))).toEqual([]);
  expect(many.some((one) => one[0] === 0) && many.some((one) => one[32] === 0)).toBe(true);
});

test('A-404 RFC 9421 3.3.3, B.2.5: the hmac-sha256 example is the MAC of the base', () => {
  const base = baseOf('("date" "@authority" "content-type");created=1618884473;keyid="test-shared-secret"');
  expect(createHmac('sha256', keys.shared).update(base).digest('base64')).toBe(
    'pxcQw6G3AjtMBQjwo8XzkZf/bws5LelbaMk5rGIGtE8=',
  );
});

test('A-404 RFC 9421 3.3.6, B.2.6: the ed25519 example is signed here, byte for byte', () => {
  const base = baseOf(
    '("date" "@method" "@path" "@authority" "content-type" "content-length");created=1618884473;keyid="test-key-ed25519"',
  );
  expect(signBase('ed25519', keys.ed25519, base).toString('base64')).toBe(
    'wqcAqbmYJ2ji2glfAMaRy4gruYYnx2nEFN2HN6jrnDnQCK1u02Gb04v9EDgwUPiu4A0w6vuQv5lIp5WPpBKRCw==',
  );
});
