// A lint rule: a module keeps no state. What changes lives in objects that are made and handed on, so that two pages,
// two tests or two pictures never share it.
//
// At module level it refuses `let` and `var`, anything made with `new`, and any later change to a module's constant: an
// assignment to its members, or a call of a method that changes it.

const CHANGES = new Set("add clear copyWithin delete fill pop push reverse set shift sort splice unshift".split(" "));
const FIXED = new Set(["RegExp"]); // made with `new`, and nothing about them changes

/** @type {import("eslint").Rule.RuleModule} */
export const noModuleState = {
  meta: {
    type: "problem",
    schema: [],
    messages: {
      variable: "'{{name}}' is state at module level: keep it in an object that is made and handed on.",
      made: "'new {{name}}' at module level makes state: make it where it is needed and hand it on.",
      changed:
        "'{{name}}' belongs to the module, and this changes it: keep it in an object that is made and handed on.",
    },
  },
  create(context) {
    return {
      ":matches(Program, ExportNamedDeclaration) > VariableDeclaration"(node) {
        if (node.kind === "const") return;
        for (const {id} of node.declarations) report(id, "variable", context.sourceCode.getText(id));
      },
      NewExpression(node) {
        const name = context.sourceCode.getText(node.callee);
        const inFunction = context.sourceCode.getAncestors(node).some(isFunction);
        if (!inFunction && !FIXED.has(name)) report(node, "made", name);
      },
      "Program:exit"(program) {
        const scope = context.sourceCode.getScope(program).childScopes.find(({type}) => type === "module");
        for (const variable of scope?.variables ?? []) {
          if (!variable.defs.some(({type}) => type === "Variable" || type === "ImportBinding")) continue;
          for (const {identifier} of variable.references) {
            if (isChanged(identifier)) report(identifier, "changed", variable.name);
          }
        }
      },
    };

    function report(node, messageId, name) {
      context.report({node, messageId, data: {name}});
    }
  },
};

/** Whether this name is where a change begins: `NAME.a[b] = …`, `NAME.a++`, `delete NAME.a`, `NAME.a.push(…)`. */
function isChanged(identifier) {
  let node = identifier;
  let method = null;
  while (node.parent.type === "MemberExpression" && node.parent.object === node) {
    node = node.parent;
    method = node.computed ? null : node.property.name;
  }
  const {parent} = node;
  if (node === identifier) return false;
  if (parent.type === "AssignmentExpression") return parent.left === node;
  if (parent.type === "UpdateExpression") return true;
  if (parent.type === "UnaryExpression") return parent.operator === "delete";
  return parent.type === "CallExpression" && parent.callee === node && CHANGES.has(method);
}

function isFunction({type}) {
  return type === "FunctionDeclaration" || type === "FunctionExpression" || type === "ArrowFunctionExpression";
}
