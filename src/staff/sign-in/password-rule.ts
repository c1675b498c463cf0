/** The rule for new passwords: length counts, kinds of characters do not (NIST SP 800-63B). Pure. */

export const passwordLengthMin = 12;
/** The cost of hashing grows with the length. */
export const passwordLengthMax = 256;

export type PasswordProblem = 'passwordShort' | 'passwordLong' | 'passwordCommon';

const common =
  /^(password|passwort|qwert|abc|letmein|welcome|orderpass|restaurant|ristorante|admin|12345|00000|11111)/i;

/** Undefined: the password is acceptable. `email`: the password must not be built from it. */
export const problemOfPassword = (password: string, email: string): PasswordProblem | undefined => {
  const letters = [...password];
  if (letters.length < passwordLengthMin) return 'passwordShort';
  if (letters.length > passwordLengthMax) return 'passwordLong';
  const lower = password.toLowerCase();
  const name = email.split('@', 1)[0] ?? '';
  // The rest must be an acceptable password on its own.
  const rest = [lower.replace(common, ''), ...(name.length > 3 ? [lower.replaceAll(name, '')] : [])];
  if (new Set(letters).size < 5 || rest.some((text) => text.length < 6) || isRun(lower)) return 'passwordCommon';
  return undefined;
};

/** 123456789012, abcdefghijkl: each character follows the one before. */
const isRun = (text: string): boolean => {
  let steps = 0;
  for (let i = 1; i < text.length; i += 1) if (Math.abs(text.charCodeAt(i) - text.charCodeAt(i - 1)) <= 1) steps += 1;
  return steps > text.length * 0.8;
};
