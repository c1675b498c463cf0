/** Functions as the architecture tests read them, from the syntax tree of TypeScript. */
import type { Node, SourceFile } from 'typescript/unstable/ast';
import { isFunctionLikeDeclaration, isPropertyAssignment, isVariableDeclaration } from 'typescript/unstable/ast/is';
import { createVirtualFileSystem } from 'typescript/unstable/fs';
import { API } from 'typescript/unstable/sync';

/** `name`: "(anonymous)" without one. `lines`: from its first line to its last, comments and empty lines included. */
export type FunctionSize = { file: string; name: string; lines: number };

/** Only syntax is read, so nothing is resolved. */
const compilerOptions = { allowJs: true, noLib: true, noResolve: true, types: [], moduleDetection: 'force' };

/** Every function of `files`, texts of TypeScript or JavaScript by path. A function stands before those inside it. */
export const functionsOf = (files: Readonly<Record<string, string>>): FunctionSize[] => {
  const paths = Object.keys(files);
  const virtual = Object.fromEntries(paths.map((path) => [`/${path}`, files[path] ?? '']));
  const config = JSON.stringify({ compilerOptions, files: paths });
  const api = new API({ cwd: '/', fs: createVirtualFileSystem({ ...virtual, '/tsconfig.json': config }) });
  try {
    const project = api.updateSnapshot({ openProjects: ['/tsconfig.json'] }).getProject('/tsconfig.json');
    return paths.flatMap((path) => {
      const source = project?.program.getSourceFile(`/${path}`);
      if (source === undefined) throw new Error(`TypeScript could not read ${path}`);
      return functionsIn(source, path);
    });
  } finally {
    api.close();
  }
};

const functionsIn = (source: SourceFile, file: string): FunctionSize[] => {
  const found: FunctionSize[] = [];
  const lineOf = (position: number): number => source.getLineAndCharacterOfPosition(position).line;
  const visit = (node: Node): void => {
    if (isFunctionLikeDeclaration(node)) {
      const lines = lineOf(node.getEnd()) - lineOf(node.getStart(source)) + 1;
      found.push({ file, name: nameOf(node) ?? '(anonymous)', lines });
    }
    node.forEachChild(visit);
  };
  visit(source);
  return found;
};

/** The name of the function, or of the constant or member that it is the value of. */
const nameOf = (node: Node): string | undefined => {
  if ('name' in node && node.name !== undefined) return (node.name as Node).getText();
  const { parent } = node;
  return isVariableDeclaration(parent) || isPropertyAssignment(parent) ? parent.name.getText() : undefined;
};
