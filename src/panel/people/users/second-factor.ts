/** The second factor of an account in words. A passkey counts as both factors. */
import type { ListedUser } from '../../ports/staff.ts';
import type { Texts } from '../../texts/en/en.ts';

export const secondFactorOf = (
  { users: { factors: t } }: Texts,
  user: Pick<ListedUser, 'totp' | 'passkeys'>,
): string => {
  if (user.passkeys === 0) return user.totp ? t.codes : t.none;
  return user.totp ? t.both : t.passkey;
};
