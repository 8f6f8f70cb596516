/* Registers that a function keeps for its caller, out and in: see struct image_context. */
#ifndef __x86_64__
#error "memory images know x86-64 only"
#endif

    .text

/* int image_context_save(struct image_context *context) */
    .globl image_context_save
    .type image_context_save, @function
image_context_save:
    endbr64
    movq %rbx, 0(%rdi)
    movq %rbp, 8(%rdi)
    movq %r12, 16(%rdi)
    movq %r13, 24(%rdi)
    movq %r14, 32(%rdi)
    movq %r15, 40(%rdi)
    leaq 8(%rsp), %rax          /* the stack pointer after we return */
    movq %rax, 48(%rdi)
    movq (%rsp), %rax           /* and where to */
    movq %rax, 56(%rdi)
    stmxcsr 64(%rdi)
    fnstcw 68(%rdi)
    xorl %eax, %eax
    ret
    .size image_context_save, . - image_context_save

/* void image_context_load(const struct image_context *context): image_context_save() returns 1 */
    .globl image_context_load
    .type image_context_load, @function
image_context_load:
    endbr64
    movq 0(%rdi), %rbx
    movq 8(%rdi), %rbp
    movq 16(%rdi), %r12
    movq 24(%rdi), %r13
    movq 32(%rdi), %r14
    movq 40(%rdi), %r15
    ldmxcsr 64(%rdi)
    fldcw 68(%rdi)
    movq 48(%rdi), %rsp
    movq 56(%rdi), %rdx
    movl $1, %eax
    jmp *%rdx
    .size image_context_load, . - image_context_load

/* void image_switch_stack(void *top, void (*function)(void *), void *data) */
    .globl image_switch_stack
    .type image_switch_stack, @function
image_switch_stack:
    endbr64
    movq %rdi, %rsp
    andq $-16, %rsp
    xorl %ebp, %ebp
    movq %rdx, %rdi
    call *%rsi
    ud2
    .size image_switch_stack, . - image_switch_stack

    .section .note.GNU-stack, "", @progbits
