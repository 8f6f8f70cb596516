/* The meaning of the nodes of each grammar: one table per language. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "library/code/tree_internal.h"

const TSLanguage *tree_sitter_bash(void);
const TSLanguage *tree_sitter_c(void);
const TSLanguage *tree_sitter_cpp(void);
const TSLanguage *tree_sitter_go(void);
const TSLanguage *tree_sitter_java(void);
const TSLanguage *tree_sitter_javascript(void);
const TSLanguage *tree_sitter_json(void);
const TSLanguage *tree_sitter_rust(void);
const TSLanguage *tree_sitter_tsx(void);
const TSLanguage *tree_sitter_typescript(void);

#define BRANCH(name)                                                                               \
    {                                                                                              \
        .type = name, .role = ROLE_BRANCH                                                          \
    }

/* clang-format off */

/* Types that only TypeScript has are not found in JavaScript's grammar, and so do no harm there. */
static const struct tree_rule script_rules[] = {
    {"function_declaration", ROLE_FUNCTION, "name", "parameters"},
    {"generator_function_declaration", ROLE_FUNCTION, "name", "parameters"},
    {"function_signature", ROLE_FUNCTION, "name", "parameters"},
    {"method_definition", ROLE_FUNCTION, "name", "parameters", .what = "method"},
    {"method_signature", ROLE_FUNCTION, "name", "parameters", .what = "method"},
    {"abstract_method_signature", ROLE_FUNCTION, "name", "parameters", .what = "method"},
    {"class_declaration", ROLE_CLASS, "name"},
    {"abstract_class_declaration", ROLE_CLASS, "name"},
    {"interface_declaration", ROLE_CLASS, "name", .what = "interface"},
    {"enum_declaration", ROLE_CLASS, "name", .what = "enum"},
    {"internal_module", ROLE_SCOPE, "name", .needs = "body"},
    {"module", ROLE_SCOPE, "name", .needs = "body"},
    {"variable_declarator", ROLE_VALUE, "name", "value"},
    {"assignment_expression", ROLE_VALUE, "left", "right"},
    {"pair", ROLE_VALUE, "key", "value"},
    {"field_definition", ROLE_VALUE, "property", "value"},
    {"public_field_definition", ROLE_VALUE, "name", "value"},
    {"arrow_function", ROLE_ANONYMOUS},
    {"function_expression", ROLE_ANONYMOUS},
    {"generator_function", ROLE_ANONYMOUS},
    {"class", ROLE_ANONYMOUS, .what = "class"},
    {"import_statement", ROLE_IMPORT, .import = tree_import_script},
    {"export_statement", ROLE_IMPORT, .import = tree_import_script},
    {"call_expression", ROLE_CALL, "function", "arguments"},
    {"new_expression", ROLE_CALL, "constructor", "arguments"},
    {"comment", ROLE_COMMENT},
    BRANCH("if_statement"), BRANCH("for_statement"), BRANCH("for_in_statement"), BRANCH("while_statement"),
    BRANCH("do_statement"), BRANCH("switch_case"), BRANCH("catch_clause"), BRANCH("ternary_expression"),
    {0},
};

/* And those of C++. */
static const struct tree_rule c_rules[] = {
    {"function_definition", ROLE_FUNCTION, "declarator", .needs = "declarator"},
    {"struct_specifier", ROLE_CLASS, "name", .what = "struct", .needs = "body"},
    {"union_specifier", ROLE_CLASS, "name", .what = "union", .needs = "body"},
    {"enum_specifier", ROLE_CLASS, "name", .what = "enum", .needs = "body"},
    {"class_specifier", ROLE_CLASS, "name", .needs = "body"},
    {"namespace_definition", ROLE_SCOPE, "name"},
    {"type_definition", ROLE_VALUE, "declarator", "type"},
    {"preproc_include", ROLE_IMPORT, .import = tree_import_include},
    {"call_expression", ROLE_CALL, "function", "arguments"},
    {"new_expression", ROLE_CALL, "type", "arguments"},
    {"comment", ROLE_COMMENT},
    BRANCH("if_statement"), BRANCH("for_statement"), BRANCH("for_range_loop"), BRANCH("while_statement"),
    BRANCH("do_statement"), BRANCH("case_statement"), BRANCH("catch_clause"), BRANCH("conditional_expression"),
    {0},
};

static const struct tree_rule go_rules[] = {
    {"function_declaration", ROLE_FUNCTION, "name", "parameters"},
    {"method_declaration", ROLE_FUNCTION, "name", "parameters", .what = "method"},
    {"method_elem", ROLE_FUNCTION, "name", "parameters", .what = "method"},
    {"method_spec", ROLE_FUNCTION, "name", "parameters", .what = "method"},
    {"type_spec", ROLE_VALUE, "name", "type"},
    {"struct_type", ROLE_ANONYMOUS, .what = "struct"},
    {"interface_type", ROLE_ANONYMOUS, .what = "interface"},
    {"import_spec", ROLE_IMPORT, .import = tree_import_go},
    {"call_expression", ROLE_CALL, "function", "arguments"},
    {"comment", ROLE_COMMENT},
    BRANCH("if_statement"), BRANCH("for_statement"), BRANCH("expression_case"), BRANCH("type_case"),
    BRANCH("communication_case"),
    {0},
};

static const struct tree_rule rust_rules[] = {
    {"function_item", ROLE_FUNCTION, "name", "parameters"},
    {"function_signature_item", ROLE_FUNCTION, "name", "parameters"},
    {"struct_item", ROLE_CLASS, "name", .what = "struct"},
    {"enum_item", ROLE_CLASS, "name", .what = "enum"},
    {"union_item", ROLE_CLASS, "name", .what = "union"},
    {"trait_item", ROLE_CLASS, "name", .what = "trait"},
    {"mod_item", ROLE_SCOPE, "name", .needs = "body"},
    {"impl_item", ROLE_TYPE, "type"},
    {"use_declaration", ROLE_IMPORT, .import = tree_import_rust},
    {"extern_crate_declaration", ROLE_IMPORT, .import = tree_import_crate},
    {"call_expression", ROLE_CALL, "function", "arguments"},
    {"macro_invocation", ROLE_CALL, "macro"},
    {"line_comment", ROLE_COMMENT}, {"block_comment", ROLE_COMMENT},
    BRANCH("if_expression"), BRANCH("for_expression"), BRANCH("while_expression"), BRANCH("loop_expression"),
    BRANCH("match_arm"),
    {0},
};

static const struct tree_rule java_rules[] = {
    {"method_declaration", ROLE_FUNCTION, "name", "parameters", .what = "method"},
    {"constructor_declaration", ROLE_FUNCTION, "name", "parameters", .what = "method"},
    {"compact_constructor_declaration", ROLE_FUNCTION, "name", .what = "method"},
    {"class_declaration", ROLE_CLASS, "name"},
    {"interface_declaration", ROLE_CLASS, "name", .what = "interface"},
    {"enum_declaration", ROLE_CLASS, "name", .what = "enum"},
    {"record_declaration", ROLE_CLASS, "name", .what = "record"},
    {"annotation_type_declaration", ROLE_CLASS, "name", .what = "annotation"},
    {"import_declaration", ROLE_IMPORT, .import = tree_import_java},
    {"method_invocation", ROLE_CALL, "name", "arguments", .object = "object"},
    {"object_creation_expression", ROLE_CALL, "type", "arguments"},
    {"explicit_constructor_invocation", ROLE_CALL, "constructor", "arguments", .object = "object"},
    {"line_comment", ROLE_COMMENT}, {"block_comment", ROLE_COMMENT},
    BRANCH("if_statement"), BRANCH("for_statement"), BRANCH("enhanced_for_statement"), BRANCH("while_statement"),
    BRANCH("do_statement"), BRANCH("switch_label"), BRANCH("catch_clause"), BRANCH("ternary_expression"),
    {0},
};

static const struct tree_rule bash_rules[] = {
    {"heredoc_body", ROLE_TEXT},
    {"function_definition", ROLE_FUNCTION, "name"},
    {"command", ROLE_CALL, "name"},
    {"comment", ROLE_COMMENT},
    BRANCH("if_statement"), BRANCH("elif_clause"), BRANCH("for_statement"), BRANCH("c_style_for_statement"),
    BRANCH("while_statement"), BRANCH("case_item"),
    {0},
};

static const struct tree_rule json_rules[] = {
    {"comment", ROLE_COMMENT},
    {0},
};

const struct tree_grammar tree_grammars[TREE_LANGUAGES] = {
    [TREE_JAVASCRIPT] = {tree_sitter_javascript, script_rules},
    [TREE_TYPESCRIPT] = {tree_sitter_typescript, script_rules},
    [TREE_TSX] = {tree_sitter_tsx, script_rules},
    [TREE_C] = {tree_sitter_c, c_rules},
    [TREE_CPP] = {tree_sitter_cpp, c_rules},
    [TREE_GO] = {tree_sitter_go, go_rules},
    [TREE_RUST] = {tree_sitter_rust, rust_rules},
    [TREE_JAVA] = {tree_sitter_java, java_rules},
    [TREE_BASH] = {tree_sitter_bash, bash_rules},
    [TREE_JSON] = {tree_sitter_json, json_rules},
};
/* clang-format on */

static const struct tree_rule **index_rules(const struct tree_grammar *grammar)
{
    const TSLanguage *language = grammar->language();
    const struct tree_rule **index =
        calloc(ts_language_symbol_count(language) + 1, sizeof(const struct tree_rule *));

    for (const struct tree_rule *rule = grammar->rules; index && rule->type; rule++) {
        TSSymbol symbol =
            ts_language_symbol_for_name(language, rule->type, (uint32_t)strlen(rule->type), true);

        if (symbol)
            index[symbol] = rule;
    }
    return index;
}

const struct tree_rule *const *tree_rules_of(const struct tree_language *language,
                                             uint32_t *ret_count)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static const struct tree_rule **made[TREE_LANGUAGES];
    const struct tree_rule **index;

    (void)pthread_mutex_lock(&lock);
    if (!made[language->id])
        made[language->id] = index_rules(&tree_grammars[language->id]);
    index = made[language->id];
    (void)pthread_mutex_unlock(&lock);
    *ret_count = ts_language_symbol_count(tree_grammars[language->id].language());
    return (const struct tree_rule *const *)index;
}
