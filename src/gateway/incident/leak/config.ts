/** Settings of reports of leaked credentials (interface 29). */
import { z } from 'zod';
import { hasLogin, onOff } from '#src/platform/settings.ts';

const isUrl = (value: string): boolean =>
  URL.canParse(value) && /^https?:$/.test(new URL(value).protocol) && !hasLogin(value);

export const leakSettings = z.strictObject({
  leak_reports: onOff('on').meta({
    description: '`off`: reports of leaked credentials at /api/oauth/report-leak are not taken',
    env: 'ORDERPASS_LEAK_REPORTS',
  }),
  leak_reports_github: onOff('off').meta({
    description: '`on` takes the signed reports of the secret scanning of GitHub at /api/oauth/report-leak/github',
    env: 'ORDERPASS_LEAK_REPORTS_GITHUB',
  }),
  leak_reports_github_keys: z
    .string()
    .refine(isUrl, 'must be an absolute URL without user and password')
    .default('https://api.github.com/meta/public_keys/secret_scanning')
    .meta({
      description: 'Where the public keys of these reports are',
      env: 'ORDERPASS_LEAK_REPORTS_GITHUB_KEYS',
    }),
});

export type LeakSettings = z.infer<typeof leakSettings>;
