import { join } from 'node:path'
import type { Node, SourceFile } from 'typescript/unstable/ast'
import { API, type Diagnostic } from 'typescript/unstable/sync'

/** Codes of names and lines that nothing uses: a mutant with those still runs. */
const unused = [6133, 6138, 6192, 6196, 6198, 6199, 6205, 7027]

/** The types of a copy of the tree. */
export type Program = ReturnType<typeof openProgram>

export function openProgram(root: string) {
  const api = new API({ cwd: root })
  const config = join(root, 'tsconfig.json')
  const programAt = (snapshot: ReturnType<typeof api.updateSnapshot>) => {
    const project = snapshot.getProject(config)
    if (!project) throw new Error(`${config} is no project of TypeScript.`)
    return project.program
  }
  /** The file that was looked at last: a mutant was in it, and is no longer. */
  let last: string[] = []
  const first = programAt(api.updateSnapshot({ openProjects: [config] }))
  return {
    parse: (file: string): SourceFile => {
      const source = first.getSourceFile(join(root, file))
      if (!source) throw new Error(`${file} is not in the project.`)
      return source
    },
    /** What TypeScript has against a file as it is on the disk now. Other files are not looked at. */
    errorsIn: (file: string): string[] => {
      const path = join(root, file)
      const snapshot = api.updateSnapshot({ fileChanges: { changed: [...last, path] } })
      last = [path]
      const program = programAt(snapshot)
      const found = [...program.getSyntacticDiagnostics(path), ...program.getSemanticDiagnostics(path)]
      snapshot.dispose()
      return found.filter(isError).map(({ text }) => text)
    },
    close: () => api.close(),
  }
}

function isError({ code }: Diagnostic): boolean {
  return !unused.includes(code)
}

/** Calls `visit` for a node and for all inside it, in the order of the text. */
export function walk(node: Node, visit: (node: Node) => void): void {
  visit(node)
  node.forEachChild(child => walk(child, visit))
}
