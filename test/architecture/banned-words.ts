/** Words that hide the subject of a sentence, and private names for what has a standard term in the field. */
const bannedWords: readonly RegExp[] = [
  // Pronouns in place of a thing of the program, and code as a person.
  /\bwhoever\b/i,
  /\bwhomever\b/i,
  // Except as the Unix user of that name, followed by a colon in the file of accounts.
  /\bnobody\b(?!:)/i,
  /\bsomebody\b/i,
  /\banybody\b/i,
  /\bhears\b/i,
  /\bheard of\b/i,
  /\btold\b/i,
  /\bsays so\b/i,
  /\bsayable\b/i,
  /\bcame to\b/i,
  /\bwhat became of\b/i,
  /\bof ours\b/i,
  /\bbelongs? into\b/i,
  /\bthe word (of|for)\b/i,
  // Names whose standard terms are in the glossary of the interface: slot, wait budget, entity queue, fast path, release.
  /\bpatience\b/i,
  /\bcrowd(s|ed)?\b/i,
  /\blanes?\b/i,
  /\bshel(f|ves)\b/i,
  /\bnewcomers?\b/i,
  /\bcaretakers?\b/i,
  /\bknocks?\b/i,
  /\bjudge[sd]?\b/i,
  /\bvouch(es|ed)?\b/i,
  /\bswift\b/i,
  /\bfind standing\b/i,
  /\bhand-?overs?\b/i,
  /\bhanded over\b/i,
  /\bgive(s|n)? back\b/i,
  /\bgave back\b/i,
  /\bputs? back\b/i,
  /\bset apart\b/i,
  /\bapart\b(?! from)/i,
];

/** Names as words: `findStanding`, `find_standing` and `find-standing.ts` are all "find standing". */
const splitNames = (text: string): string => text.replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2').replaceAll('_', ' ');

/** The banned words of a line of text, as they stand in it. */
export const findBanned = (line: string): string[] =>
  bannedWords.flatMap((word) => word.exec(splitNames(line))?.[0] ?? []);

const anyBanned = new RegExp(bannedWords.map((word) => word.source).join('|'), 'i');

export const hasBanned = (text: string): boolean => anyBanned.test(splitNames(text));
